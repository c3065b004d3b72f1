"""pydantic-ai's own renderers beside ours, on random ledgers: a second opinion on what a request looks like."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from ledger.recorded import RecordedEvent
from replay import Result, replay, targets
from replay.providers.bedrock_blocks import FILLER
from replay.providers.content import ANCHOR
from replay.providers.violations import violations
from tests.property.ledgers import ledgers, orderly_ledgers, recorded
from tests.property.replay.normal_forms import FORMS, Form
from tests.property.replay.second_opinion import LIBRARY, SecondOpinion
from tests.property.replay.sources import Event, recorded_by
from tests.property.replay.test_targets import many

# Target -> the api that names it below pydantic-ai, and its model.
BELOW = {
    "anthropic": ("anthropic-messages", "claude-opus-4-5"),
    "bedrock": ("bedrock-converse-stream", "anthropic.claude-sonnet-4-5-v1:0"),
    "gemini": ("google-generative-ai", "gemini-3-pro"),
    "mistral": (None, "mistral-large-latest"),
    "openai-chat": ("openai-completions", "gpt-4.1"),
    "openai-responses": ("openai-responses", "gpt-5.4"),
}
# Not shrunk: each smaller example goes through the library too, which takes minutes.
tried = settings(many(60), phases=[Phase.generate])
NEWER = {"anthropic": ["claude-opus-5-5"]}
"""Models of other rules: this one binds thinking to what was sent before it."""
TARGETS = sorted(set(LIBRARY) & set(targets()))


@functools.cache
def library(target: str) -> SecondOpinion:
    try:
        return SecondOpinion(target, BELOW[target][1])
    except ImportError as error:
        pytest.skip(f"pydantic-ai has no {target} here: {error}")


def through(records: list[RecordedEvent], target: str, model: str | None = None) -> Result:
    api, usual = BELOW[target]
    return replay(records, "c", {"provider": "pydantic-ai", "model": model or usual, "api": api})


@pytest.mark.parametrize("target", TARGETS)
@tried
@given(data=st.data())
def test_what_the_library_makes_of_our_request_breaks_no_rule(target: str, data: st.DataObject) -> None:
    other = library(target)
    found = through(recorded(data.draw(recorded_by(ledgers()), "events")), target)
    assume(found.sendable)
    body = other.body(found.request)
    broken = violations({"provider": target, "model": BELOW[target][1]}, body)
    assert [one for one in broken if one.rule not in DIFFERENCES.get(target, {})] == []


DIFFERENCES: dict[str, dict[str, str]] = {
    "gemini": {
        "S2": "the library gives data a name of its own, which the SDK knows and the API ignores",
        "G8": "a made name may begin with a hyphen: names are made to fit every other provider below",
        "G2": "the library leaves neighbouring responses apart, where we join them",
    },
}
"""Rules that the library's own request breaks, and why that is its own affair."""


@pytest.mark.parametrize("target", [name for name in TARGETS if name in FORMS])
@tried
@given(data=st.data())
def test_both_say_the_same(target: str, data: st.DataObject) -> None:
    other = library(target)
    events = data.draw(recorded_by(orderly_ledgers()), "events")
    records = recorded(without_text_files(events) if target == "bedrock" else events)
    model = data.draw(st.sampled_from([BELOW[target][1], *NEWER.get(target, ())]), "model")
    found = through(records, target, model)
    direct = replay(records, "c", {"provider": target, "model": model})
    if found.sendable != direct.sendable:  # a system message is asked as the user's text below the library
        assert ends_with_system(direct)
    assume(found.sendable and direct.sendable)
    theirs, ours = (FORMS[target](body) for body in (other.body(found.request), direct.request))
    assert plain(ours) == plain(theirs)
    assert thought(theirs) <= thought(ours), "no thinking goes through the library that we would not send"


def without_text_files(events: list[Event]) -> list[Event]:
    """With images in their place: we send Bedrock a document, and the library the file's text."""
    made: list[Event] = json.loads(json.dumps(events).replace("text/plain", "image/png"))
    return [event | {"content": _images(event["content"])} if "content" in event else event for event in made]


def _images(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [
        one | {"type": "image"} if isinstance(one, dict) and one.get("type") == "file" else one
        for one in content
    ]


def ends_with_system(found: Result) -> bool:
    return bool(found.messages) and found.messages[-1].get("role") in ("system", "developer")


def thought(form: Form) -> set[tuple[str, ...]]:
    return {said for said in form if said[0] == "thinking"}


def plain(form: Form) -> Form:
    """Without thinking (a step of thinking alone does not go through the library), without what stands before a
    history that starts with the assistant, which not every target wants, and without fillers and blank texts
    (Gemini's carry a signature, for which the library has no place); a system message amid the history is one,
    whether it goes as such or as a user's text that says so."""
    return [
        _said(said) for said in form if said[1] not in FILLERS and said[0] != "thinking" and not _blank(said)
    ]


def _blank(said: tuple[Any, ...]) -> bool:
    return said[0] == "assistant" and not said[1].strip()


FILLERS = (ANCHOR, FILLER, "OK")
"""Texts that nobody said and a provider wants: ours, and the library's between results and a user's text."""


def _said(said: tuple[Any, ...]) -> tuple[Any, ...]:
    late = LATE_SYSTEM.fullmatch(said[1]) if said[0] == "user" else None
    return said if late is None else ("system", late[1])


LATE_SYSTEM = re.compile(r"<system>\n(.*)\n</system>", re.DOTALL)

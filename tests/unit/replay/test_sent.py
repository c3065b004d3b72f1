"""Fingerprints on record, held against what the ledger renders."""

from __future__ import annotations

from typing import Any

import pytest

from replay import replay
from replay.materialize import Message
from replay.providers.anthropic import AnthropicWriting
from replay.sent import sent, target_of
from tests.unit.replay.talk import event, talk, text, user

CLAUDE = {"provider": "anthropic", "api": "messages", "model": "big"}
TARGET = {"provider": "anthropic", "model": "big"}
BEFORE = [user("q"), text("A.", "m1"), user("next", "t2")]


def start(fingerprint: str | None, step: str = "m2", **fields: Any) -> dict[str, Any]:
    return event("step_start", "t2", step, **{**CLAUDE, "request_fingerprint": fingerprint, **fields})


def of(*events: dict[str, Any], target: dict[str, Any] = TARGET) -> str | None:
    return replay(talk(*events), "c", target).fingerprint


def test_what_was_sent_is_what_is_rendered() -> None:
    [one] = sent(talk(*BEFORE, start(of(*BEFORE)), text("B.", "m2", "t2")), "c")
    assert (one.verdict, one.version, one.step_id, one.recorded == one.rendered) == ("same", 4, "m2", True)


def test_another_request_is_told() -> None:
    [one] = sent(talk(*BEFORE, start("sha256:0")), "c")
    assert (one.verdict, one.messages, one.as_of) == ("different", None, None)
    assert one.rendered == of(*BEFORE)
    assert one.as_json()["target"] == {"provider": "anthropic", "model": "big", "rung": "native"}


def test_a_request_that_stopped_short_or_was_stale_is_told() -> None:
    [one] = sent(talk(*BEFORE, start(of(*BEFORE[:2]))), "c")
    assert (one.verdict, one.messages, one.as_of) == ("different", 2, None)
    stale = [*BEFORE, event("retraction", None, event_ids=["e2"])]
    [one] = sent(talk(*stale, start(of(*BEFORE))), "c")
    assert (one.verdict, one.messages, one.as_of) == ("different", None, 3)


def test_the_target_on_record_is_used() -> None:
    target = {**TARGET, "rung": "text-only"}
    assert of(*BEFORE, target=TARGET) == of(*BEFORE, target=target)  # the texts are the same on both
    neutral = {"provider": "neutral"}
    [one] = sent(talk(*BEFORE, start(of(*BEFORE, target=neutral), request_target=neutral)), "c")
    assert one.verdict == "same"


def test_lanes_are_rendered_each_on_its_own() -> None:
    lane = [{**one, "agent_id": "sub"} for one in BEFORE]
    [one] = sent(talk(*BEFORE, *lane, start(of(*BEFORE), agent_id="sub")), "c")
    assert one.verdict == "same"


@pytest.mark.parametrize(
    "fields", [{"api": "telex"}, {"request_target": {"provider": "nobody"}}, {"request_target": {"x": 1}}]
)
def test_a_target_that_is_not_known_is_said(fields: dict[str, Any]) -> None:
    [one] = sent(talk(*BEFORE, start("sha256:0", **fields)), "c")
    assert (one.verdict, one.rendered) == ("unknown_target", None)


def test_only_the_last_ones_when_asked() -> None:
    records = talk(user("q"), start("sha256:0"), start("sha256:1", step="m3"), start(None))
    assert [one.recorded for one in sent(records, "c", last=1)] == ["sha256:1"]
    assert len(sent(records, "c")) == 2
    assert sent(records, "c", last=0) == []


@pytest.mark.parametrize(
    ("provider", "api", "target"),
    [
        ("anthropic", "openai-completions", "openai-chat"),
        ("anthropic", "openai-responses", "openai-responses"),
        ("anthropic", None, "anthropic"),
        ("mistral", None, "mistral"),
        ("openai", None, None),
        (None, "messages", "anthropic"),
        (None, None, None),
        ("google", "google-generative-ai", "gemini"),
        ("google-vertex", None, "gemini vertex"),
        ("google", "vertex", "gemini vertex"),
    ],
)
def test_api_comes_before_provider(provider: str | None, api: str | None, target: str | None) -> None:
    [record] = talk(start("x", provider=provider, api=api))
    name, _, below = (target or "").partition(" ")
    named = {"provider": name, "model": "big", **({"api": below} if below else {})} if name else None
    assert target_of(record.event) == named  # type: ignore[arg-type]
    [one] = sent([record], "c")
    assert (one.verdict == "unknown_target") == (target is None)


def test_a_check_renders_what_came_since_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0
    append = AnthropicWriting.write

    def write(self: AnthropicWriting, message: Message) -> None:
        nonlocal written
        written += 1
        append(self, message)

    events: list[dict[str, Any]] = [user("q")]
    for number in range(40):
        step = f"s{number}"
        events.append({**start(of(*events), step), "turn_id": "t1"})
        events.append(text(f"A {number}.", step))
        events.append(user(f"and {number}?"))
    monkeypatch.setattr(AnthropicWriting, "write", write)
    assert {one.verdict for one in sent(talk(*events), "c")} == {"same"}
    assert written < 40 * 8, "not the history each time"

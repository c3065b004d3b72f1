"""Requests to Mistral: what they look like, the judge beside the vendor's own validator, and each mend."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay import Result, replay
from replay.providers import mistral, names
from replay.providers.names import NineIds
from replay.providers.openai_dialects import DIALECTS
from replay.providers.rules.mistral import RULES
from replay.providers.violations import violations
from tests.unit.replay.providers.chat_messages import Message, a, t, u
from tests.unit.replay.providers.mistral_validator import mistral_faults
from tests.unit.replay.providers.rendering import call, codes, records, result, start, text, thinking, user

TARGET = {"provider": "mistral", "model": "mistral-large-latest"}
ID = "abcdefgh1"
OTHER = "abcdefgh2"


# Rules, whether the vendor's validator finds it too, history.
BAD: list[tuple[str, bool, list[Message]]] = [
    ("M1", True, [u(), a(None, "call_1"), t("call_1")]),
    ("M2", True, [u(), a(None, ID), u()]),
    ("M2", True, [u(), a(None, ID, OTHER), t(ID)]),
    ("M2", True, [u(), a(None, ID), t(OTHER)]),
    ("M2", True, [u(), a(None, ID), t(ID), t(ID)]),
    ("M2 M3", True, [u(), t(ID)]),
    ("M3", False, [u(), a(None, ID), t(ID), u()]),
    ("M3", True, [a("x", ID), t(ID)]),
    ("M3", True, [u(), a("x"), {"role": "system", "content": "s"}, u()]),
    ("M4", True, [u(), a("x")]),
    ("M4", True, []),
    ("M5", False, [u(), a(""), u()]),
    ("M6", False, [{**u(), "name": "x"}]),
    ("S2", True, [u(), {"role": "bogus", "content": "x"}, u()]),
    ("S2", False, [u("\ud800")]),
    ("S2", False, [u([{"type": "thinking", "thinking": "x"}])]),
]
GOOD: list[list[Message]] = [
    [{"role": "system", "content": "s"}, u(), u()],
    [u(), a("x", ID, OTHER), t(OTHER), t(ID), a("."), u()],
    [u(), a("x"), a("y"), u([{"type": "text", "text": "x"}])],
]


def broken(messages: list[Message], **more: Any) -> set[str]:
    return {one.rule for one in violations(TARGET, {"messages": messages}, **more)}


@pytest.mark.parametrize(("rules", "by_vendor", "messages"), BAD)
def test_a_bad_history(rules: str, by_vendor: bool, messages: list[Message]) -> None:
    assert broken(messages) & set(rules.split()) == set(rules.split())
    if by_vendor:
        assert mistral_faults({"messages": messages})


@pytest.mark.parametrize("messages", GOOD)
def test_a_good_history(messages: list[Message]) -> None:
    assert broken(messages) == set()
    assert mistral_faults({"messages": messages}) == []


def test_every_rule_has_a_bad_history() -> None:
    assert {name for rules, _, _ in BAD for name in rules.split()} == set(RULES)


def test_the_start_of_a_conversation_may_be_open() -> None:
    assert broken([u(), a(None, ID)], sendable=False) == set()
    assert broken([u(), a(None, ID), u(), a("x")], sendable=False) == {"M2"}


def answer(*events: dict[str, Any]) -> Result:
    found = replay(records(events), "c", TARGET)
    assert violations(TARGET, found.request, sendable=found.sendable) == []
    return found


HISTORY = [
    user("q"), start("s1"), thinking("s1"), text("s1", "Reading."), call("s1", "toolu_01"), result("toolu_01"),
    user("r"), {"type": "system_message", "content": "now"},
]  # fmt: skip


def test_a_request() -> None:
    found = answer(*HISTORY)
    (made,) = (message["tool_call_id"] for message in found.messages if message["role"] == "tool")
    function = {"name": "read", "arguments": "{}"}
    assert found.messages == [
        u([{"type": "text", "text": "q"}]),
        {"role": "assistant", "content": "Reading.",
         "tool_calls": [{"id": made, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": made, "content": "out"},
        a("."),
        u([{"type": "text", "text": "r"}]),
        u([{"type": "text", "text": "<system>\nnow\n</system>"}]),
    ]  # fmt: skip
    assert mistral_faults(found.request) == []
    assert found.provenance[3] == [[]]
    assert codes(found) == ["foreign_thinking_skipped", "tool_id_rewritten", "system_message_as_user"]


@given(st.lists(st.text(max_size=12) | st.sampled_from([ID, OTHER, "", "null"])))
def test_ids_stay_apart(names: list[str]) -> None:
    ids = NineIds()
    sent = {name: ids.sent(name) for name in names}
    assert len(set(sent.values())) == len(sent)
    assert all(len(one) == 9 and one.isalnum() and one.isascii() for one in sent.values())
    assert all(ids.known(name) == one == ids.sent(name) for name, one in sent.items())


@pytest.mark.parametrize(
    ("place", "attribute", "value", "rule"),
    [(mistral, "DIALECT", DIALECTS["mistral"], "M3"), (names, "_nine", str, "M1")],
)
def test_without_a_mend_the_judge_finds_the_fault(
    place: Any, attribute: str, value: Any, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, attribute, value)
    assert rule in [one.rule for one in violations(TARGET, replay(records(HISTORY), "c", TARGET).request)]

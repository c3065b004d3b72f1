"""Damage is noticed: requests spoiled one place at a time, and renderers that do not mend."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from replay import replay
from replay.providers import anthropic, anthropic_thinking
from replay.providers.names import Names
from replay.providers.ownership import Ownership
from replay.providers.violations import violations
from tests.unit.replay.providers.anthropic_shapes import shape_faults
from tests.unit.replay.providers.rendering import (
    MODEL,
    answer,
    body,
    call,
    complete,
    records,
    result,
    start,
    text,
    thinking,
    user,
)

Request = dict[str, Any]

STORY = [
    user("q"),
    start("s1"),
    thinking("s1", "one", "sig-1"),
    text("s1"),
    call("s1", "c1"),
    call("s1", "c2"),
    result("c1"),
    result("c2", is_error=True),
    start("s2"),
    thinking("s2", "two", "sig-2"),
    call("s2", "c3"),
    result("c3", [{"type": "text", "text": "x"}]),
    start("s3"),
    text("s3"),
    complete(),
    user("r", "t2"),
]
ORIGINAL = [
    [{"type": "thinking", "thinking": "one", "signature": "sig-1"}, {"type": "text", "text": "words"}],
    [{"type": "thinking", "thinking": "two", "signature": "sig-2"}],
]


def good() -> Request:
    return copy.deepcopy(body(answer(*STORY)))


def places(request: Request, kind: str) -> Iterator[tuple[list[Any], int]]:
    """Where blocks of one type stand: the list that holds them and the place in it."""
    for message in request["messages"]:
        for at, block in enumerate(message["content"]):
            if block["type"] == kind:
                yield message["content"], at


def spoiled(kind: str, spoil: Callable[[list[Any], int], None]) -> Iterator[Request]:
    """The good request, spoiled at each block of a type in turn."""
    for number in range(len(list(places(good(), kind)))):
        request = good()
        content, at = next(itertools.islice(places(request, kind), number, None))
        spoil(content, at)
        yield request


def drop(content: list[Any], at: int) -> None:
    del content[at]


def double(content: list[Any], at: int) -> None:
    content.insert(at, copy.deepcopy(content[at]))


def text_before(content: list[Any], at: int) -> None:
    content.insert(at, {"type": "text", "text": "x"})


def put(field: str, value: Any) -> Callable[[list[Any], int], None]:
    def change(content: list[Any], at: int) -> None:
        content[at] = {**content[at], field: value}

    return change


def without(field: str) -> Callable[[list[Any], int], None]:
    def change(content: list[Any], at: int) -> None:
        del content[at][field]

    return change


DAMAGE = [
    ("A1", "tool_result", drop),
    ("A1", "tool_result", text_before),
    ("A1", "tool_result", put("tool_use_id", "c9")),
    ("A2", "tool_result", put("tool_use_id", "c9")),
    ("A2", "tool_use", drop),
    ("A3", "tool_result", double),
    ("A4", "tool_use", double),
    ("A5", "tool_use", put("id", "c|1")),
    ("A5", "tool_result", put("tool_use_id", "c|1")),
    ("A6", "tool_use", put("input", "{}")),
    ("A6", "tool_use", put("input", None)),
    ("A10", "text", put("text", "")),
    ("A11", "text", put("text", "\n ")),
    ("A20", "thinking", without("signature")),
    ("A20", "thinking", put("signature", "")),
    ("A21", "thinking", put("signature", "sig-9")),
    ("A22", "thinking", put("thinking", "ONE")),
    ("A41", "tool_use", put("index", 0)),
    ("A41", "text", put("type", "words")),
    ("A41", "thinking", without("thinking")),
    ("S1", "text", put("text", "\ud83d")),
]


@pytest.mark.parametrize(
    ("rule", "kind", "damage"), DAMAGE, ids=lambda value: getattr(value, "__qualname__", str(value))
)
def test_damage_anywhere_is_judged(rule: str, kind: str, damage: Callable[[list[Any], int], None]) -> None:
    assert violations("anthropic", good(), original=ORIGINAL) == []
    count = 0
    for request in spoiled(kind, damage):
        assert rule in {one.rule for one in violations("anthropic", request, original=ORIGINAL)}
        count += 1
    assert count


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("tool_use", put("input", "{}")),
        ("tool_use", without("id")),
        ("tool_use", put("index", 0)),
        ("tool_result", without("tool_use_id")),
        ("tool_result", put("is_error", "yes")),
        ("tool_result", put("content", [{"type": "text", "text": "x", "index": 0}])),
        ("thinking", without("signature")),
        ("text", put("parsed_output", None)),
    ],
    ids=lambda value: getattr(value, "__qualname__", str(value)),
)
def test_the_vendors_types_notice_it_too(kind: str, damage: Callable[[list[Any], int], None]) -> None:
    assert shape_faults(good()) == []
    for request in spoiled(kind, damage):
        assert shape_faults(request)


@pytest.mark.parametrize("cut", range(1, 5))
def test_messages_left_out_are_judged(cut: int) -> None:
    request = good()
    del request["messages"][cut]
    assert violations("anthropic", request)


def rules_broken(*events: Any) -> set[str]:
    found = replay(records(events), "c", {"provider": "anthropic", "model": MODEL})
    return {one.rule for one in violations("anthropic", body(found), sendable=found.sendable)}


def test_a_renderer_that_does_not_rename_ids_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Names, "sent", lambda self, name: name)
    assert rules_broken(user("q"), call("s1", "a|b"), result("a|b")) == {"A5"}


def test_a_renderer_that_renames_only_the_call_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Names, "known", lambda self, name: name)
    assert rules_broken(user("q"), call("s1", "a|b"), result("a|b")) == {"A1", "A2", "A5"}


def test_a_renderer_that_puts_text_before_results_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    add = anthropic.Merged.add

    def backwards(self: Any, role: str, content: list[Any], versions: list[Any]) -> None:
        add(self, role, content, versions)
        if role == "user":
            self.content.reverse()

    monkeypatch.setattr(anthropic.Merged, "add", backwards)
    assert "A1" in rules_broken(user("q"), call("s1"), result(), user("and?", steering=True))


def test_a_renderer_that_keeps_unsigned_thinking_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsigned(block: Any) -> Any:
        return {"type": "thinking", "thinking": block.event.text, "signature": block.event.signature}

    monkeypatch.setattr(anthropic_thinking, "_wire", unsigned)
    assert rules_broken(user("q"), start("s1"), thinking("s1", "hm", None), call("s1"), result()) == {"A20"}


def test_a_renderer_that_sends_foreign_thinking_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ownership, "foreign", lambda self, step: None)
    events = [user("q"), start("s1", model="other"), thinking("s1", "secret", "foreign"), call("s1"), result()]
    found = replay(records(events), "c", {"provider": "anthropic", "model": MODEL})
    assert {one.rule for one in violations("anthropic", body(found), original=ORIGINAL)} == {"A21"}
    assert violations("anthropic", body(found)) == [], "from the wire alone nobody can tell"


def test_a_renderer_that_appends_no_anchor_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        anthropic.AnthropicWriting,
        "_write_assistant",
        lambda self, blocks, versions: self._written.add("assistant", blocks, versions),
    )
    assert rules_broken(text("s1"), complete(), user("q", "t2")) == {"A7"}

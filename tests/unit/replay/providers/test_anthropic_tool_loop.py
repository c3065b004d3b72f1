"""The open tool loop that manual thinking must have begun (A24): told block by block, and looked back for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events import JsonObject
from replay.providers.anthropic_thinking import ToolLoop, in_force

MANUAL: JsonObject = {"type": "enabled", "budget_tokens": 2048}
KINDS = {
    "user": ["text", "tool_result", "image"],
    "assistant": ["text", "thinking", "redacted_thinking", "tool_use", "compaction"],
}


def told(*written: tuple[str, list[str]]) -> JsonObject:
    loop = ToolLoop()
    for role, kinds in written:
        loop.add(role, [{"type": kind} for kind in kinds])
    return in_force(MANUAL, loop)


def looked_back(written: list[tuple[str, list[str]]]) -> bool:
    """Whether the request ends with results of calls whose turn has no answer that begins with thinking."""
    messages: list[tuple[str, list[str]]] = []
    for role, kinds in written:
        if messages and messages[-1][0] == role:
            messages[-1][1].extend(kinds)
        else:
            messages.append((role, list(kinds)))
    if not messages or messages[-1][0] != "user" or messages[-1][1][0] != "tool_result":
        return False
    for role, kinds in reversed(messages[:-1]):
        spoken = [kind for kind in kinds if kind != "compaction"]
        if role == "user" and set(kinds) != {"tool_result"}:
            return True
        if role == "assistant" and spoken and spoken[0] in ("thinking", "redacted_thinking"):
            return False
    return True


@given(
    st.lists(
        st.sampled_from(sorted(KINDS)).flatmap(
            lambda role: st.tuples(
                st.just(role), st.lists(st.sampled_from(KINDS[role]), min_size=1, max_size=3)
            )
        ),
        max_size=12,
    )
)
def test_what_was_told_is_what_looking_back_finds(written: list[tuple[str, list[str]]]) -> None:
    assert (told(*written)["type"] == "disabled") == looked_back(written)


@pytest.mark.parametrize(
    ("kinds", "stays"),
    [
        (["thinking", "tool_use"], True),
        (["redacted_thinking", "tool_use"], True),
        (["text", "tool_use"], False),
    ],
)
def test_a_loop_stays_as_it_began(kinds: list[str], stays: bool) -> None:
    later = [("user", ["tool_result"]), ("assistant", ["tool_use"]), ("user", ["tool_result"])]
    found = told(("user", ["text"]), ("assistant", kinds), *later)
    assert (found == MANUAL) is stays


def test_a_turn_does_not_inherit_the_thinking_of_another() -> None:
    before = [("user", ["text"]), ("assistant", ["thinking", "text"]), ("user", ["text"])]
    assert told(*before) == MANUAL
    assert told(*before, ("assistant", ["tool_use"]), ("user", ["tool_result"])) == {"type": "disabled"}


def test_a_copy_goes_on_apart() -> None:
    loop = ToolLoop()
    loop.add("user", [{"type": "text"}])
    loop.add("assistant", [{"type": "tool_use"}])
    twin = loop.fork()
    twin.add("user", [{"type": "tool_result"}])
    assert (loop.is_unled, twin.is_unled) == (False, True)

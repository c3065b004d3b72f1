"""Any chunks in any order: nothing is raised, invented or lost, and what is dropped is said."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ledger.assembler import Assembler
from ledger.events import decode
from ledger.turns import LiveStamps, Recording
from ledger.turns.encoding import encoded

INDEXES = st.integers(0, 4)
TEXTS = st.text(max_size=5)
KINDS = st.sampled_from(["text", "reasoning", "tool-call", "video", "image"])


def chunks() -> st.SearchStrategy[dict[str, Any]]:
    block = st.one_of(
        st.fixed_dictionaries({"type": st.sampled_from(["text", "reasoning"]), "text": TEXTS}),
        st.fixed_dictionaries({"type": st.just("tool-call"), "id": TEXTS, "name": TEXTS, "arguments": TEXTS}),
        st.fixed_dictionaries({"type": KINDS}),
        st.fixed_dictionaries({"type": KINDS, "text": st.integers(), "id": st.integers(), "name": st.none()}),
    )
    state = st.fixed_dictionaries(
        {"response": st.integers()}, optional={"blocks": st.lists(st.integers(), max_size=6)}
    )
    finish = st.fixed_dictionaries(
        {
            "type": st.just("finish"),
            "reason": st.sampled_from(["stop", "max-tokens", "tool-calls"]).map(lambda kind: {"kind": kind}),
        },
        optional={"replayState": state | st.integers() | st.none()},
    )
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("block-start"), "index": INDEXES, "blockType": KINDS}),
        st.fixed_dictionaries({"type": st.just("text-delta"), "index": INDEXES, "text": TEXTS}),
        st.fixed_dictionaries({"type": st.just("reasoning-delta"), "index": INDEXES, "text": TEXTS}),
        st.fixed_dictionaries(
            {"type": st.just("tool-call-delta"), "index": INDEXES, "argumentsDelta": TEXTS},
            optional={"id": TEXTS, "name": TEXTS},
        ),
        st.fixed_dictionaries({"type": st.just("block-end"), "index": INDEXES, "block": block}),
        st.fixed_dictionaries({"type": st.just("usage"), "usage": st.just({"inputTokens": 1})}),
        finish,
        st.fixed_dictionaries({"type": st.text(max_size=3)}),
    )


@given(st.lists(chunks(), max_size=30), st.sampled_from(["finished", "cancelled"]))
def test_any_chunks(given_chunks: list[dict[str, Any]], end: Any) -> None:
    assembler = Assembler()
    for chunk in given_chunks:
        assembler.push(chunk)
    output = assembler.output(end)
    assert output == assembler.output(end), "asking changes nothing"
    seen = len(assembler.parts)
    dropped_blocks = [entry for entry in output.dropped if entry["what"] not in ("chunk", "replay_entries")]
    assert len(output.kept) + len(dropped_blocks) == seen, "every block is kept or said to be dropped"
    places = [kept.place for kept in output.kept]
    assert places == sorted(set(places))
    finishes = [chunk for chunk in given_chunks if chunk["type"] == "finish"]
    assert output.finish == (finishes[-1]["reason"]["kind"] if finishes else "stop")
    if output.finish == "max-tokens" or end == "cancelled":
        assert all(block["type"] != "tool-call" for block in output.blocks)
    if output.replay_blocks is not None:
        entries = finishes[-1]["replayState"]["blocks"]
        assert len(entries) == seen
        assert output.replay_blocks == [entries[place] for place in places], "one mask for both"
    assert output.entries_discarded == any(entry["what"] == "replay_entries" for entry in output.dropped)


@given(st.lists(chunks(), max_size=30), st.sampled_from(["finish", "cut", "fail"]))
def test_any_chunks_as_a_step(given_chunks: list[dict[str, Any]], way: str) -> None:
    """Each block is at most one event, with its own place; whatever is kept of the response is there."""
    numbers = itertools.count()
    recording = Recording("c", LiveStamps(lambda: f"i{next(numbers)}", lambda: "2026-11-30T12:00:00Z"))
    step = recording.begin_turn("t").begin_step("s")
    for chunk in given_chunks:
        step.push(chunk)
    if way == "finish":
        step.finish()
    elif way == "cut":
        step.cut()
    else:
        step.fail("boom")
    events = recording.sheet.take()
    places = [event["block_index"] for event in events if "block_index" in event]
    assert len(places) == len(set(places))
    assert sum(event["type"] == "step_finish" for event in events) == (way == "finish")
    thought = any(event["type"] == "thinking_complete" for event in events)
    spoke = any(event["type"] == "text_complete" for event in events)
    assert spoke or not thought, "a step that only thought is closed"
    assembler = Assembler()
    for chunk in given_chunks:
        assembler.push(chunk)
    output = assembler.output("finished" if way == "finish" else "cancelled")
    readable = {
        (block["type"], block["text"])
        for block in output.blocks
        if block["type"] in ("text", "reasoning") and str(block.get("text") or "").strip()
    }
    names = {"thinking_complete": "reasoning", "text_complete": "text"}
    written = {(names[str(event["type"])], event["text"]) for event in events if event["type"] in names}
    assert readable <= written
    calls = [block["id"] for block in output.blocks if block["type"] == "tool-call"]
    started = [event["tool_call_id"] for event in events if event["type"] == "tool_start"]
    assert len(started) == len(calls)
    for recorded, call in zip(started, calls, strict=True):
        assert recorded == call or not str(call).isprintable()
    for event in events:
        decode(encoded(event).body)

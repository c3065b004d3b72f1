"""Whatever stands in the fields of a session file, its records become events that the ledger takes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from projections.conversation import rows
from replay import replay
from tests.pi_files import SESSION, take

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["x" * 300, "\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
IDS = st.sampled_from(["a", "b", "c", "d", "e"])


def odd(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly the usual, sometimes anything."""
    return st.one_of(usual, usual, usual, VALUES)


def fields(**usual: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object of these fields: any may be missing, odd, or beside unknown ones."""
    named = st.fixed_dictionaries({}, optional={name: odd(value) for name, value in usual.items()})
    return st.builds(
        lambda known, more: {**more, **known}, named, st.dictionaries(st.text(max_size=3), VALUES, max_size=1)
    )


TIMES = st.sampled_from(["2026-01-01T00:00:00.000Z", "2026-01-01", "9999-99-99T00:00:00Z"]) | st.integers()
BLOCKS = fields(
    type=st.sampled_from(["text", "thinking", "toolCall", "image"]),
    text=st.text(max_size=5),
    thinking=st.text(max_size=5),
    thinkingSignature=st.text(max_size=5),
    redacted=st.booleans(),
    id=IDS,
    name=st.just("bash"),
    arguments=VALUES,
)
MESSAGES = fields(
    role=st.sampled_from(
        ["user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "system"]
    ),
    content=st.lists(odd(BLOCKS), max_size=3) | st.text(max_size=5),
    stopReason=st.sampled_from(["stop", "length", "toolUse", "error", "aborted", "pending"]),
    errorMessage=st.text(max_size=5),
    api=st.sampled_from(["anthropic-messages", "openai-completions"]),
    provider=st.just("p"),
    model=st.just("m"),
    responseId=st.text(max_size=3),
    usage=fields(input=st.integers(), output=st.integers(), cacheRead=st.integers()),
    timestamp=TIMES,
    toolCallId=IDS,
    toolName=st.just("bash"),
    isError=st.booleans(),
    details=VALUES,
    command=st.text(max_size=3),
    output=st.text(max_size=3),
    exitCode=st.integers(),
    excludeFromContext=st.booleans(),
)
ENTRIES = fields(
    type=st.sampled_from(
        ["message"] * 8
        + ["compaction", "branch_summary", "custom", "custom_message", "label", "model_change", "session"]
    ),
    id=IDS,
    parentId=IDS | st.none(),
    timestamp=TIMES,
    message=MESSAGES,
    summary=st.text(max_size=3),
    firstKeptEntryId=IDS,
    firstKeptEntryIndex=st.integers(-2, 9),
    customType=st.text(max_size=3),
    content=st.text(max_size=3),
    targetId=IDS,
    modelId=st.text(max_size=3),
)
HEADERS = fields(version=st.integers(1, 4), cwd=st.text(max_size=3), provider=st.text(max_size=3))


@given(header=HEADERS, entries=st.lists(odd(ENTRIES), max_size=12))
@example(
    header={"version": 3}, entries=[{"type": ["message"]}, {"type": "message", "message": {"stopReason": {}}}]
)
def test_any_records_become_events_that_are_taken_shown_and_replayed(
    header: dict[str, Any], entries: list[Any]
) -> None:
    lines = [
        json.dumps({**header, "type": "session", "id": SESSION}),
        *(json.dumps(entry) for entry in entries),
    ]
    taken = take("\n".join(lines).encode())
    for name, own in taken.own.items():
        assert len({record.event_id for record in own}) == len(own)
        rows(taken.whole(name), name)
        replay(taken.whole(name), name)
    again = take("\n".join(lines[: len(lines) // 2 + 1]).encode())
    assert SESSION in again.own

"""Random ledgers: everything that a conversation can hold, in any order, with few names so that they collide.

`ledgers()` is chaos: any event anywhere. `orderly_ledgers()` is what a runtime records: steps that do not
overlap and are neither retracted nor retried, with all that goes wrong in practice in between. Both give event
dicts without `id` and `conversation_id`; `recorded` makes of them what reading the conversation gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from ledger.events import from_json
from ledger.recorded import RecordedEvent

EventDict = dict[str, Any]

TURNS = ("t1", "t2", "t3")
STEPS = ("m1", "m2", "m3", "m4")
CALLS = ("c1", "c2", "c1~2", "")
LANES = (None, "sub1", "sub2")
TOOLS = ("read_file", "shell")

texts = st.sampled_from(["", " ", "hello", "two\nlines", "caf\u00e9 \u2028 \ud83d", "\x00"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
blocks = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, texts),
        st.just({"type": "image", "media_type": "image/png", "data": "QUJD"}),
        st.just({"type": "file", "media_type": "text/plain", "data": "QUJD"}),
    ),
    max_size=3,
)
contents = texts | blocks
tool_lists = json_values | st.lists(
    st.builds(
        lambda name, schema: {"name": name, schema: {"type": "object"}},
        st.sampled_from(["shell", "read_file", "a.b", "", "x" * 70]),
        st.sampled_from(["input_schema", "parameters", "inputSchema", "nothing"]),
    ),
    max_size=3,
)
request_settings = json_values | st.fixed_dictionaries(
    {},
    optional={
        "max_tokens": st.integers(-1, 9) | json_values,
        "temperature": st.sampled_from([0, 0.5, 1, 2, 3]) | json_values,
        "tool_choice": json_values
        | st.sampled_from(["auto", "required"])
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["auto", "none", "any", "tool", "x"])},
            optional={"name": st.sampled_from(["shell", "a.b", "gone"])},
        ),
    },
)
optional_flags = st.sampled_from([None, None, None, True, False])
states = st.one_of(
    json_values,
    st.builds(
        lambda version, entries: {
            "response": {
                "kind": "pi-ai",
                "version": version,
                "api": "messages",
                "provider": "anthropic",
                "model": "big",
                "stopReason": "stop",
            },
            "blocks": [{"type": kind} for kind in entries],
        },
        st.sampled_from([1, 2, 3]),
        st.lists(st.sampled_from(["text", "reasoning", "tool-call"]), max_size=3),
    ),
)


def recorded(events: Iterable[EventDict], conversation_id: str = "c") -> list[RecordedEvent]:
    """The events as if they had been stored, with ids `e1`, `e2` … and versions from 1."""
    return [
        RecordedEvent.of(from_json({"id": f"e{version}", "conversation_id": conversation_id, **event}), version)
        for version, event in enumerate(events, start=1)
    ]


def _event(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[EventDict]:
    """Events of one type; a field drawn as None is absent, but for `args` and `content`."""

    def made(values: EventDict) -> EventDict:
        kept = {
            name: value for name, value in values.items() if value is not None or name in ("args", "content")
        }
        return {"type": kind, **kept}

    return st.fixed_dictionaries(fields).map(made)


def _envelope(**given: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    return {
        "turn_id": st.sampled_from(TURNS),
        "agent_id": st.sampled_from((None,) * 8 + LANES[1:]),
        "visibility": st.sampled_from((None,) * 12 + ("hidden", "visible")),
        **given,
    }


def _block() -> dict[str, st.SearchStrategy[Any]]:
    return _envelope(
        step_id=st.sampled_from((*STEPS, None)),
        block_index=st.sampled_from((None, 0, 1, 2, 3)),
        provider_metadata=st.sampled_from((None, None, {"item_id": "rs_1"})),
    )


_ANY: dict[str, st.SearchStrategy[EventDict]] = {
    "user_message": _event(
        "user_message",
        **_envelope(content=contents, steering=optional_flags, step_id=st.sampled_from((None,) * 9 + STEPS)),
    ),
    "system_message": _event(
        "system_message", **_envelope(turn_id=st.sampled_from((None, "t1")), content=contents)
    ),
    "context": _event(
        "context",
        **_envelope(
            turn_id=st.none(),
            digest=texts,
            system=json_values,
            tools=tool_lists,
            settings=request_settings,
        ),
    ),
    "tool_approval": _event(
        "tool_approval",
        **_envelope(
            tool_call_id=st.sampled_from(CALLS),
            decision=st.sampled_from(["requested", "approved", "denied", "expired"]),
        ),
    ),
    "erasure": _event(
        "erasure",
        **_envelope(
            turn_id=st.none(), event_ids=st.just(["e1"]), reason=st.just("asked"), skeletons=st.just({})
        ),
    ),
    "turn_start": _event("turn_start", **_envelope(runtime=st.just("demo"))),
    "step_start": _event(
        "step_start",
        **_envelope(
            step_id=st.sampled_from((*STEPS, None)),
            provider=st.sampled_from([None, "anthropic", "openai"]),
            model=st.sampled_from([None, "big", "small"]),
            retry_of=st.sampled_from((None, None, *STEPS)),
        ),
    ),
    "thinking_complete": _event(
        "thinking_complete",
        **_block(),
        text=texts,
        signature=st.sampled_from([None, "sig", ""]),
        redacted_data=st.sampled_from([None, None, "ENC"]),
    ),
    "text_complete": _event("text_complete", **_block(), text=texts),
    "tool_start": _event(
        "tool_start",
        **_block(),
        tool_call_id=st.sampled_from(CALLS),
        tool_name=st.sampled_from(TOOLS),
        args=json_values,
        provider_executed=st.sampled_from([None, None, None, True]),
    ),
    "tool_result": _event(
        "tool_result",
        **_envelope(
            step_id=st.sampled_from((None,) * 4 + STEPS),
            block_index=st.sampled_from((None, None, None, 0, 1, 2)),
        ),
        tool_call_id=st.sampled_from(CALLS),
        content=json_values | blocks,
        is_error=optional_flags,
        final=st.sampled_from([None, None, None, True, False]),
        tool_name=st.sampled_from([None, None, *TOOLS]),
        provider_executed=optional_flags,
    ),
    "step_finish": _event(
        "step_finish",
        **_envelope(
            step_id=st.sampled_from((*STEPS, None)),
            finish_reason=st.sampled_from([None, "stop", "pause_turn"]),
            replay_state=states,
        ),
    ),
    "token_usage": _event(
        "token_usage",
        **_envelope(step_id=st.sampled_from((None, *STEPS)), usage=st.just({"input": 1, "output": 1})),
    ),
    "complete": _event("complete", **_envelope(stop_reason=st.sampled_from([None, "end_turn"]))),
    "abort": _event(
        "abort", **_envelope(reason=st.just("crash"), source=st.sampled_from([None, {"inferred": True}]))
    ),
    "error": _event(
        "error",
        **_envelope(message=st.just("no"), retryable=optional_flags, step_id=st.sampled_from((None, *STEPS))),
    ),
    "compaction": _event(
        "compaction",
        **_envelope(
            turn_id=st.sampled_from((None, "t1")),
            summary=texts,
            through_version=st.integers(-1, 60),
            provider_metadata=st.sampled_from([None, {"anthropic": {"type": "compaction"}}]),
        ),
    ),
    "retraction": _event(
        "retraction",
        **_envelope(
            turn_id=st.sampled_from((None, *TURNS)),
            turn_ids=st.none() | st.lists(st.sampled_from(TURNS), max_size=2),
            step_ids=st.none() | st.lists(st.sampled_from(STEPS), max_size=2),
            event_ids=st.none() | st.lists(st.integers(1, 40).map(lambda number: f"e{number}"), max_size=3),
        ),
    ),
    "note": _event("note", **_envelope(turn_id=st.sampled_from((None, "t1")), text=texts)),
    "hologram": _event("hologram", **_envelope(turn_id=st.sampled_from((None, "t1")), payload=json_values)),
}

_RARE = frozenset({"compaction", "retraction", "erasure", "context", "note", "hologram", "system_message"})
_USUAL = ("tool_start", "tool_result", "text_complete", "thinking_complete", "user_message")

any_event = st.one_of(
    *(strategy for kind, strategy in _ANY.items() if kind not in _RARE),
    *(_ANY[kind] for kind in _USUAL),
    st.one_of(*(_ANY[kind] for kind in sorted(_RARE))),
)


_turn = st.sampled_from(("t1", "t1", "t2"))
_step = st.sampled_from(("m1", "m2", "m3"))
_maybe_step = st.sampled_from(("m1", "m2", "m3", None))

crowded_event = st.one_of(
    _event("user_message", turn_id=_turn, content=st.just("go")),
    _event("step_start", turn_id=_turn, step_id=_step, retry_of=st.sampled_from((None, "m1", "m2"))),
    _event("text_complete", turn_id=_turn, step_id=_maybe_step, text=st.sampled_from(("", "words"))),
    _event(
        "thinking_complete", turn_id=_turn, step_id=_maybe_step, text=st.just("hm"), signature=st.just("sig")
    ),
    _event(
        "tool_start",
        turn_id=_turn,
        step_id=_maybe_step,
        tool_call_id=st.just("c1"),
        tool_name=st.just("shell"),
        args=st.none(),
    ),
    _event("tool_result", turn_id=_turn, tool_call_id=st.just("c1"), content=st.integers(0, 9)),
    _event("error", turn_id=_turn, step_id=_maybe_step, message=st.just("no"), retryable=st.just(True)),
    _event("complete", turn_id=_turn),
)
"""Few types and fewer names: attempts, groups and doubles of one id meet in almost every ledger."""


def ledgers(max_size: int = 30) -> st.SearchStrategy[list[EventDict]]:
    """Any events in any order, in up to three lanes; most of them long enough for events to meet."""
    half = max_size // 2
    return st.one_of(
        st.lists(any_event, max_size=half),
        st.lists(any_event, min_size=half, max_size=max_size),
        st.lists(crowded_event, min_size=half // 2, max_size=max_size),
    )


@st.composite
def orderly_ledgers(draw: st.DrawFn, max_turns: int = 3, max_steps: int = 3) -> list[EventDict]:
    """Turn after turn, step after step, each step's events together; results may be missing, late or double."""
    events: list[EventDict] = []
    open_calls: list[tuple[str, str]] = []
    for turn in range(draw(st.integers(0, max_turns))):
        turn_id = f"t{turn}"
        events.append({"type": "user_message", "turn_id": turn_id, "content": draw(contents)})
        for number in range(draw(st.integers(0, max_steps))):
            step_id = f"m{number}"
            events += _orderly_step(draw, turn_id, step_id, open_calls)
            for _ in range(draw(st.integers(0, 3))):
                events += _between(draw, turn_id, open_calls)
        ending = draw(st.sampled_from(["complete", "abort", "error", None]))
        if ending is not None:
            events.append(
                {"type": ending, "turn_id": turn_id, **({"message": "no"} if ending == "error" else {})}
            )
        for _ in range(draw(st.integers(0, 2))):
            events += _between(draw, turn_id, open_calls)
    return events


def _orderly_step(
    draw: st.DrawFn, turn_id: str, step_id: str, open_calls: list[tuple[str, str]]
) -> Sequence[EventDict]:
    names = {"turn_id": turn_id, "step_id": step_id}
    indexed = draw(st.booleans())
    made: list[EventDict] = []
    for _ in range(draw(st.integers(0, 2))):
        made.append(
            {"type": "thinking_complete", "text": draw(texts), "signature": draw(st.sampled_from(["sig", ""]))}
        )
    for _ in range(draw(st.integers(0, 2))):
        made.append({"type": "text_complete", "text": draw(texts)})
    for _ in range(draw(st.integers(0, 2))):
        call = {"tool_call_id": draw(st.sampled_from(CALLS)), "tool_name": "shell", "args": draw(json_values)}
        if draw(st.integers(0, 4)) == 0:
            hosted = {"provider_executed": True}
            made.append({"type": "tool_start", **call, **hosted})
            if draw(st.booleans()):
                result = {"tool_call_id": call["tool_call_id"], "content": "hit"}
                made.append({"type": "tool_result", **result, **hosted})
        else:
            made.append({"type": "tool_start", **call})
            open_calls.append((turn_id, call["tool_call_id"]))
    if indexed:
        made = [{**event, "block_index": index} for index, event in enumerate(made)]
    start = {"type": "step_start", "provider": "anthropic", "api": "messages", "model": "big"}
    finish = {"type": "step_finish", "finish_reason": draw(st.sampled_from(["stop", "tool_use", "pause_turn"]))}
    return [{**event, **names} for event in [start, *made, finish]]


def _between(draw: st.DrawFn, turn_id: str, open_calls: list[tuple[str, str]]) -> Sequence[EventDict]:
    kind = draw(
        st.sampled_from(
            ["result", "result", "result", "progress", "steer", "system", "denied", "control", "hidden"]
        )
    )
    if kind in ("result", "progress", "denied") and open_calls:
        own_turn, call_id = draw(st.sampled_from(open_calls))
        about = {"turn_id": draw(st.sampled_from([own_turn, own_turn, turn_id])), "tool_call_id": call_id}
        if kind == "denied":
            return [{"type": "tool_approval", **about, "decision": "denied"}]
        final = {"final": False} if kind == "progress" else {}
        return [{"type": "tool_result", **about, **final, "content": draw(json_values | blocks)}]
    if kind == "steer":
        return [{"type": "user_message", "turn_id": turn_id, "content": draw(contents), "steering": True}]
    if kind == "system":
        return [{"type": "system_message", "content": draw(texts)}]
    if kind == "hidden":
        return [
            {"type": "text_complete", "turn_id": turn_id, "step_id": "m9", "text": "x", "visibility": "hidden"}
        ]
    return [{"type": "token_usage", "turn_id": turn_id, "usage": {"input": 1, "output": 1}}]

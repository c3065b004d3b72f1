"""Conformance cases: loading them, building their events, and comparing answers as their README says."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ledger.admission import parse_event
from ledger.recorded import RecordedEvent

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TURNLEDGER_SHARED", REPOSITORY.parent / "shared"))

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(),
    reason=f"needs the shared cases and samples at {SHARED} (TURNLEDGER_SHARED names another place)",
)


@dataclass(frozen=True)
class Case:
    """One line of a case file, with the values that JSON cannot hold already expanded."""

    id: str
    kind: str
    title: str
    data: Mapping[str, Any]

    @property
    def expect(self) -> Mapping[str, Any]:
        return self.data["expect"]

    @property
    def options(self) -> Mapping[str, Any]:
        return self.data.get("options", {})

    def conversations(self) -> dict[str, list[dict[str, Any]]]:
        """The conversations to store, sources of forks first, the case's own (named by its id) last."""
        return {**self.data.get("conversations", {}), self.id: self.data["events"]}


def load(*names: str) -> list[Case]:
    """The cases of the named files (without `.jsonl`), in file order; none where the cases are absent."""
    cases = []
    for name in names:
        path = SHARED / "conformance" / f"{name}.jsonl"
        for line in path.read_bytes().split(b"\n") if path.is_file() else ():
            if line.strip():
                data = expand(json.loads(line))
                cases.append(Case(data["id"], data["kind"], data["title"], data))
    return cases


def expand(value: Any) -> Any:
    """`value` with `$cp`, `$bytes_hex`, `$num`, `$repeat` and `$nest` replaced by what they spell."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$cp": points}:
            return "".join(map(chr, points))
        case {"$bytes_hex": digits}:
            return bytes.fromhex(digits)
        case {"$num": spelled}:
            return float(spelled)
        case {"$repeat": [text, count]} if isinstance(text, str):
            return text * count
        case {"$repeat": [item, count]}:
            return [expand(item) for _ in range(count)]
        case {"$nest": ["list", levels]}:
            nested: Any = []
            for _ in range(levels - 1):
                nested = [nested]
            return nested
        case {"$nest": ["dict" | "object", levels]}:
            nested = {}
            for _ in range(levels - 1):
                nested = {"a": nested}
            return nested
    return {key: expand(item) for key, item in value.items()}


def named(events: Sequence[Mapping[str, Any]], conversation: str) -> list[dict[str, Any]]:
    """The events with what the case leaves out filled in: ids `e1`, `e2` … and the conversation."""
    return [
        {"id": f"e{number}", "conversation_id": conversation, **event}
        for number, event in enumerate(events, start=1)
    ]


def recorded(case: Case) -> list[RecordedEvent]:
    """What reading the case's conversation gives, built in memory, branches read on into their sources."""
    stored: dict[str, list[RecordedEvent]] = {}
    for conversation, events in case.conversations().items():
        parsed = [parse_event(event) for event in named(events, conversation)]
        before: list[RecordedEvent] = []
        if parsed and parsed[0].type == "fork":
            before = stored[parsed[0].source_conversation_id][: parsed[0].source_version]
        stored[conversation] = before + [
            RecordedEvent.of(event, version) for version, event in enumerate(parsed, start=len(before) + 1)
        ]
    return stored[case.id]


def same(expected: Any, actual: Any) -> bool:
    """Whether `actual` is what the case names: numbers by type, keys that the case does not name ignored."""
    if isinstance(expected, Mapping):
        return isinstance(actual, Mapping) and all(
            key in actual and same(value, actual[key]) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list | tuple)
            and len(expected) == len(actual)
            and all(map(same, expected, actual))
        )
    return type(expected) is type(actual) and expected == actual


def check_messages(expected: Sequence[Any], actual: Sequence[Any]) -> None:
    """Roles, order and parts exactly; raises `AssertionError` naming the first message that differs."""
    for number, (left, right) in enumerate(zip(expected, actual, strict=False)):
        assert same(left, right), f"message {number}: expected {_short(left)}, got {_short(right)}"
    assert len(expected) == len(actual), (
        f"expected {len(expected)} messages, got {len(actual)}: {_short(actual)}"
    )


def check_rows(expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> None:
    """User, assistant and tool rows in order, only the keys that the case names."""
    shown = [row for row in actual if row["row"] in ("user", "assistant", "tool")]
    _check_row_list(expected, shown)


def check_turns(expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> None:
    """Turn rows in the order of turns, only the keys that the case names."""
    _check_row_list(expected, [row for row in actual if row["row"] == "turn"])


def _check_row_list(expected: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]]) -> None:
    for number, (left, right) in enumerate(zip(expected, shown, strict=False)):
        assert same(left, right), f"row {number}: expected {_short(left)}, got {_short(right)}"
    assert len(expected) == len(shown), f"expected {len(expected)} rows, got {len(shown)}: {_short(shown)}"


def check_diagnostics(expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> None:
    """The codes as a multiset; every expected entry finds a diagnostic of its own with the keys it names."""
    codes = Counter(entry["code"] for entry in expected), Counter(entry["code"] for entry in actual)
    assert codes[0] == codes[1], f"expected {dict(codes[0])}, got {dict(codes[1])}"
    left = list(actual)
    for entry in sorted(expected, key=len, reverse=True):
        found = next((one for one in left if same(entry, one)), None)
        assert found is not None, f"no diagnostic like {_short(entry)} in {_short(left)}"
        left.remove(found)


def check_never(never: Sequence[str], answer: Any) -> None:
    """None of the texts or codes occurs anywhere in the answer, keys included."""
    spelled = list(_strings(answer))
    for text in never:
        assert not any(text in one for one in spelled), f"{text!r} occurs in the answer"


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 900 else f"{text[:900]}…"

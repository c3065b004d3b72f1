"""Replay envelopes (DESIGN.md 7.3, specs/dsh.md 2 and 3): read strictly and whole, or not at all.

Durable content is authoritative. An envelope that cannot be used degrades its one message to plain content,
with one of sixteen reasons, in the order in which specs/dsh.md 3.2 checks them; nothing is attached "where
it fits".
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.events import Json, JsonObject
from replay.items import Block, ReplayState
from replay.parts import canonical

KIND = "pi-ai"
VERSION = 2
STOP_REASONS = frozenset({"stop", "length", "toolUse", "error", "aborted"})
_SIGNATURES = ("textSignature", "thinkingSignature", "thoughtSignature")
_ENTRY_TYPES = {"thinking": "reasoning", "text": "text", "call": "tool-call"}


class Unusable(Exception):
    """An envelope that this build cannot use; `reason` is one of the sixteen."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Envelope(NamedTuple):
    """A well-formed envelope, not yet held against the content."""

    response: JsonObject
    entries: list[JsonObject]


def open_envelope(value: Json) -> Envelope:
    """The two halves of a recorded `replay_state`, the flat version 1 lifted to version 2.

    Raises `Unusable` with the first of reasons 1 to 12 that holds.
    """
    if not isinstance(value, dict):
        raise Unusable("expected a replay envelope")
    if "response" not in value and value.get("kind") == KIND and _is_number(value.get("version"), 1):
        flat = {name: item for name, item in value.items() if name != "blocks"}
        value = {"response": {**flat, "version": VERSION}, "blocks": value.get("blocks")}
    response = value.get("response")
    if not isinstance(response, dict):
        raise Unusable("expected a response object")
    if response.get("kind") != KIND:
        raise Unusable("unknown state kind")
    if not _is_number(response.get("version"), VERSION):
        raise Unusable(f"unsupported version {canonical(response.get('version'))}")
    for name in ("api", "provider", "model"):
        if not isinstance(response.get(name), str) or not response[name]:
            raise Unusable(f"{name} must be a non-empty string")
    stop_reason = response.get("stopReason")
    if not isinstance(stop_reason, str) or stop_reason not in STOP_REASONS:
        raise Unusable("unknown stopReason")
    for name in ("responseModel", "responseId"):
        if name in response and not isinstance(response[name], str):
            raise Unusable(f"{name} must be a string")
    blocks = value.get("blocks")
    if not isinstance(blocks, list):
        raise Unusable("blocks must be an array")
    return Envelope(response, [_entry(place, block) for place, block in enumerate(blocks)])


def align(
    envelope: Envelope, content: Sequence[Block], provider: str | None, model: str | None
) -> tuple[ReplayState, list[JsonObject]]:
    """The usable state and one entry a block of `content`.

    `provider` and `model` are those of the step; one that was not recorded cannot contradict. Raises `Unusable`
    with the first of reasons 13 to 16 that holds.
    """
    response, entries = envelope
    if provider is not None and response["provider"] != provider:
        raise Unusable("provider does not match assistant source")
    if model is not None and response["model"] != model:
        raise Unusable("model does not match assistant source")
    if len(entries) != len(content):
        raise Unusable("block count does not match assistant content")
    for place, (entry, block) in enumerate(zip(entries, content, strict=True)):
        if entry["type"] != _ENTRY_TYPES.get(block.kind):
            raise Unusable(f"block {place} does not match assistant content")
    return ReplayState(KIND, VERSION, response), entries


def _entry(place: int, entry: Json) -> JsonObject:
    if not isinstance(entry, dict):
        raise Unusable(f"block {place} must be an object")
    if entry.get("type") not in ("text", "reasoning", "tool-call"):
        raise Unusable(f"block {place} has an unknown type")
    for name in _SIGNATURES:
        if name in entry and not isinstance(entry[name], str):
            raise Unusable(f"block {place} {name} must be a string")
    if "redacted" in entry and not isinstance(entry["redacted"], bool):
        raise Unusable(f"block {place} redacted must be boolean")
    return entry


def _is_number(value: Json, number: int) -> bool:
    """JSON has one kind of number, and `true` is none."""
    return not isinstance(value, bool) and isinstance(value, int | float) and value == number

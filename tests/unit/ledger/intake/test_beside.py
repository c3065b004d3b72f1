"""A file beside a recording, without a store: what was erased of the recording stays erased."""

from __future__ import annotations

import json

from ledger.intake.beside import Beside, Places
from ledger.intake.live import Live
from ledger.recorded import COMMITMENT_BYTES, EncodedEvent, RecordedEvent
from tests.conformance import needs_shared
from tests.corpus.test_claude_code_files import FILES, FIXTURES
from tests.streams import take
from turnledger.importing.files import opened
from turnledger.importing.formats import FORMATS

ERASED = ("user_message", "text_complete", "tool_result")


def erased(recorded: RecordedEvent) -> RecordedEvent:
    """The event as a ledger gives it once its content was erased."""
    value = json.loads(recorded.body)
    value = {name: "[erased]" if name in ("content", "text") else it for name, it in value.items()}
    header = json.dumps({"turn_id": recorded.turn_id, "step_id": recorded.step_id}).encode()
    skeleton = bytes(COMMITMENT_BYTES) + json.dumps(value).encode()
    version, name = recorded.version, recorded.event_id
    return RecordedEvent.stored(
        "default", "c1", version, name, recorded.type, header, None, skeleton, 0, version
    )


def added(records: list[RecordedEvent]) -> list[EncodedEvent]:
    """What the file adds to a recording."""
    live = Live()
    for recorded in records:
        live.take(recorded)
    with opened(FILES / "v2.1.332-async-subagent.jsonl", lambda _size: None) as file:
        given = list(next(iter(FORMATS["claude-code"].read(file, None).streams())).events())
    places = Places(live)
    for event in given:
        places.take(event)
    assert places.end()
    beside = Beside(live, places, {recorded.event_id: recorded.version for recorded in records}, "c1")
    for event in given:
        beside.take(event)
    return [beside.written(event) for event in given if event.id not in beside.told]


@needs_shared
def test_what_was_erased_does_not_come_back() -> None:
    stream = (FIXTURES / "claude-code-stream/v2.1.332-subagent.jsonl").read_bytes()
    records = take("claude-code", stream).records
    asked = next(one for one in records if one.type == "user_message" and one.event.agent_id)
    prompt = json.loads(asked.body)["content"]
    again = added([erased(one) if one.type in ERASED else one for one in records])
    assert [event.id for event in again] == [event.id for event in added(records)]
    kept = [value for value in (json.loads(event.body) for event in again) if value.get("kind") == "unplaced"]
    assert len(kept) > 1
    assert not [value for value in kept if value["entry"]["content"] == prompt]
    assert not [event for event in again if event.type in ERASED]

"""Histories with all that Anthropic gives beside its content: no rule is broken, nothing is lost unsaid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replay import Options, replay
from replay.providers.violations import violations
from tests.property.ledgers import ledgers, orderly_ledgers, recorded
from tests.property.replay.requests import is_open_ended, opened
from tests.property.replay.test_anthropic import HIT, judged, many, searching
from tests.property.replay.test_plan import options
from tests.unit.replay.providers.anthropic_shapes import shape_faults

Event = dict[str, Any]
CITATION = {
    "type": "web_search_result_location",
    "cited_text": "c",
    "encrypted_index": "i",
    "title": None,
    "url": HIT["url"],
}
COMPACTION = {"type": "compaction", "content": "So far.", "encrypted_content": "e", "signature": "s"}
GIVEN: dict[str, list[Any]] = {
    "text_complete": [
        {"citations": [CITATION]},
        {"citations": [{**CITATION, "type": "page_location"}, CITATION]},
        {"turnledger": {"digest": "0"}},
    ],
    "thinking_complete": [{"turnledger": {"digest": "0"}}],
    "tool_start": [
        {"caller": {"type": "direct"}, "toolset_name": "set"},
        {"anthropic": {"caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_c1"}}},
        {"caller": "me"},
    ],
    "compaction": [
        {"anthropic": COMPACTION},
        {"anthropic": {"type": "compaction", "content": None, "encrypted_content": "e"}},
    ],
}


@st.composite
def adorned(draw: st.DrawFn, source: st.SearchStrategy[list[Event]]) -> list[Event]:
    """A ledger whose blocks hold what a provider gives, with refusals, seams and compactions between."""
    events: list[Event] = []
    steps: list[tuple[str, str]] = []
    for event in searching(draw(source)):
        choices = GIVEN.get(event["type"])
        if choices is not None and draw(st.booleans()):
            event = {**event, "provider_metadata": draw(st.sampled_from(choices))}
        if event["type"] == "step_finish" and draw(st.booleans()):
            event = {**event, "finish_reason": draw(st.sampled_from(["refusal", "pause_turn", "max_tokens"]))}
        events.append(event)
        if event.get("step_id") and event.get("turn_id") and event["type"] != "tool_result":
            steps.append((event["turn_id"], event["step_id"]))
            kind = draw(st.sampled_from([None, None, None, None, "seam", "compaction"]))
            place = {"turn_id": event["turn_id"], "step_id": event["step_id"]}
            if "agent_id" in event:
                place["agent_id"] = event["agent_id"]
            if kind == "seam":
                events.append({"type": "note", **place, "kind": "fallback", "text": "on"})
            elif kind == "compaction":
                metadata = draw(st.sampled_from(GIVEN["compaction"]))
                summary = metadata["anthropic"]["content"] or ""
                events.append(
                    {
                        "type": "compaction",
                        **place,
                        "summary": summary,
                        "through_version": len(events),
                        "provider_metadata": metadata,
                    }
                )
    return events


targets = st.fixed_dictionaries(
    {"provider": st.just("anthropic"), "model": st.sampled_from(["big", "small"])},
    optional={
        "thinking": st.sampled_from(
            [
                {"type": "enabled", "budget_tokens": 2000},
                {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
            ]
        ),
        "binds_prefix": st.booleans(),
        "rung": st.sampled_from(["no-foreign", "no-thinking", "flat-tools", "text-only"]),
    },
)


@many(300)
@given(adorned(ledgers() | orderly_ledgers()), options, targets)
def test_no_request_breaks_a_rule(events: Sequence[Event], chosen: Options, target: Any) -> None:
    found = judged(recorded(events), target, chosen)
    assert shape_faults(found.request) == []
    json.dumps(found.request, ensure_ascii=False).encode()
    versions = {version for parts in found.provenance for part in parts for version in part}
    told = versions | {one.version for one in found.diagnostics}
    neutral = {
        version
        for message in found.neutral
        for at in range(len(message.parts))
        for version in message.versions(at)
    }
    assert neutral <= told, "what is not sent is said"


@many(100)
@given(adorned(orderly_ledgers()), targets)
def test_no_request_breaks_a_rule_wherever_the_ledger_is_cut(events: Sequence[Event], target: Any) -> None:
    records = recorded(events)
    for cut in range(len(records)):
        judged(records[:cut], target, Options())


@many(200)
@given(adorned(orderly_ledgers()), targets)
def test_what_was_sent_stays_as_it_was_up_to_a_compaction(events: Sequence[Event], target: Any) -> None:
    """The request just before a step's first event is the beginning of every later one."""
    target = {name: value for name, value in target.items() if name != "rung"}
    records = recorded([event for event in events if event["type"] != "compaction"])
    whole = opened(replay(records, "c", target))
    begun: set[tuple[str | None, str]] = set()
    for place, record in enumerate(records):
        if record.step_id is None or record.event.hidden or (record.turn_id, record.step_id) in begun:
            continue
        begun.add((record.turn_id, record.step_id))
        found = replay(records[:place], "c", target)
        if found.sendable and not is_open_ended(found):
            assert violations(target, found.request) == []
            assert whole.startswith(opened(found))

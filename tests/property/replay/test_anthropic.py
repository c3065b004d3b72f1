"""What holds of every request to Anthropic, whatever the ledger holds (DESIGN.md 7.4 and 10)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.recorded import RecordedEvent
from replay import Options, Result, replay
from replay.diagnostics import SEVERITY
from replay.providers.names import Names
from replay.providers.violations import violations
from tests.property.ledgers import ledgers, orderly_ledgers, recorded
from tests.property.replay.test_plan import options
from tests.unit.replay.providers.anthropic_shapes import shape_faults
from tests.unit.replay.providers.rendering import body

Event = dict[str, Any]

targets = st.fixed_dictionaries(
    {"provider": st.just("anthropic"), "model": st.sampled_from(["big", "small", None])},
    optional={
        "thinking": st.sampled_from([{"type": "enabled", "budget_tokens": 2000}, {"type": "adaptive"}]),
        "binds_prefix": st.booleans(),
    },
)
TOOLS = [{"type": "web_search_20250305", "name": "web_search"}, {"name": "shell", "parameters": {}}]
HIT = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "e"}


def searching(events: Sequence[Event]) -> list[Event]:
    """The same ledger with its provider-executed calls as the searches that Anthropic records."""
    changed: list[Event] = [{"type": "context", "digest": "d", "system": "Be brief.", "tools": TOOLS}]
    for event in events:
        if event["type"] == "context":
            continue
        if event.get("provider_executed"):
            event = {**event, "tool_call_id": f"srvtoolu_{event['tool_call_id'].replace('~', '_')}"}
            if event["type"] == "tool_start":
                event = {**event, "tool_name": "web_search", "args": {"query": "q"}}
            else:
                event = {**event, "content": [HIT] if event.get("step_id") != "m2" else "no hits"}
        changed.append(event)
    return changed


chaos = ledgers() | ledgers().map(searching)
orderly = orderly_ledgers() | orderly_ledgers().map(searching)


def many(ordinary: int) -> settings:
    """More examples with --long."""
    long = settings.default is not None and settings.default.max_examples > 1000
    return settings(max_examples=20_000 if long else ordinary)


def judged(records: Sequence[RecordedEvent], target: Any, chosen: Options) -> Result:
    found = replay(records, "c", target, chosen)
    broken = violations(target, body(found), sendable=found.sendable)
    if found.plan.pending:
        # Not sendable: a call that may still run is left open. Where steps overlap it can be one of an earlier
        # message, which the judge, who sees no ledger, cannot know to be waited for.
        broken = [one for one in broken if one.rule != "A1"]
        assert not found.sendable
    assert broken == []
    return found


@many(400)
@given(chaos, options, targets)
def test_no_request_breaks_a_rule(events: list[Event], chosen: Options, target: Any) -> None:
    found = judged(recorded(events), target, chosen)
    assert shape_faults(body(found)) == []
    json.dumps(body(found), ensure_ascii=False).encode()
    assert all(SEVERITY[one.code] == one.severity for one in found.diagnostics)


@many(100)
@given(chaos, options, targets)
def test_no_request_breaks_a_rule_wherever_the_ledger_is_cut(
    events: list[Event], chosen: Options, target: Any
) -> None:
    records = recorded(events)
    ends = [judged(records[:cut], target, chosen).version for cut in range(len(records))]
    assert ends == list(range(len(records)))


@many(200)
@given(chaos, options, targets)
def test_the_same_events_give_the_same_bytes(events: list[Event], chosen: Options, target: Any) -> None:
    first, second = (judged(recorded(events), target, chosen) for _ in range(2))
    assert json.dumps(first.as_json()) == json.dumps(second.as_json())


@many(200)
@given(chaos, options, targets)
def test_every_part_is_accounted_for(events: list[Event], chosen: Options, target: Any) -> None:
    found = judged(recorded(events), target, chosen)
    assert [len(parts) for parts in found.provenance] == [len(message["content"]) for message in found.messages]  # type: ignore[arg-type]
    versions = {version for parts in found.provenance for part in parts for version in part}
    assert versions <= set(range(1, len(events) + 1))
    neutral = {
        version
        for message in found.neutral
        for at in range(len(message.parts))
        for version in message.versions(at)
    }
    told = versions | {one.version for one in found.diagnostics}
    assert neutral <= told, "what is not sent is said"


def searches(found: Result) -> bool:
    """True when a call that the provider runs has no result yet."""
    blocks = [block for message in body(found)["messages"] for block in message["content"]]
    calls = {block["id"] for block in blocks if block["type"] == "server_tool_use"}
    return calls != {block["tool_use_id"] for block in blocks if block["type"] == "web_search_tool_result"}


def opened(found: Result) -> bytes:
    """The request's bytes up to where it may go on: without the brackets that close it."""
    sent = body(found)
    head = {name: sent[name] for name in ("system", "tools") if name in sent}
    text = json.dumps({**head, "messages": found.messages})
    return text.removesuffix("]}]}" if found.messages else "]}").encode("utf-8", "surrogatepass")


@many(400)
@given(orderly, targets.filter(lambda target: target["model"] is not None))
def test_what_was_sent_stays_as_it_was(events: list[Event], target: Any) -> None:
    """The request just before a step's first event is the beginning of every later one (X7, DESIGN.md 7.4).

    A request that could not be sent then is no promise, nor is one that goes on with a search of the
    provider's: when the search never comes to an end, its call cannot stay.
    """
    records = recorded(events)
    whole = opened(judged(records, target, Options()))
    begun: set[tuple[str | None, str]] = set()
    before: bytes | None = None
    for place, record in enumerate(records):
        if record.step_id is None or record.event.hidden or (record.turn_id, record.step_id) in begun:
            continue
        begun.add((record.turn_id, record.step_id))
        found = judged(records[:place], target, Options())
        if not found.sendable or searches(found):
            continue
        sent = opened(found)
        assert whole.startswith(sent)
        assert before is None or sent.startswith(before)
        before = sent


def as_events(found: Result) -> list[Event]:
    """A ledger that holds what a request says: the same blocks, as if they had been recorded from it."""
    sent = body(found)
    events: list[Event] = [
        {"type": "context", "digest": "d", "system": sent.get("system"), "tools": sent.get("tools")}
    ]
    turn = 0
    for number, message in enumerate(sent["messages"]):
        step = {"turn_id": f"t{turn}", "step_id": f"m{number}"}
        if message["role"] == "assistant":
            events.append({"type": "step_start", **step, "provider": "anthropic", "model": sent.get("model")})
            for index, block in enumerate(message["content"]):
                events.append({**_as_event(block), **step, "block_index": index})
            continue
        for block in message["content"]:
            if block["type"] == "tool_result":
                more = {"is_error": True} if block.get("is_error") else {}
                events.append(
                    {
                        "type": "tool_result",
                        "turn_id": f"t{turn}",
                        "tool_call_id": block["tool_use_id"],
                        "content": block.get("content", ""),
                        **more,
                    }
                )
        rest = [block for block in message["content"] if block["type"] != "tool_result"]
        if rest:
            turn += 1
            events.append({"type": "user_message", "turn_id": f"t{turn}", "content": rest})
    return events


def _as_event(block: Event) -> Event:
    match block["type"]:
        case "text":
            return {"type": "text_complete", "text": block["text"]}
        case "thinking":
            return {"type": "thinking_complete", "text": block["thinking"], "signature": block["signature"]}
        case "redacted_thinking":
            return {"type": "thinking_complete", "text": "", "redacted_data": block["data"]}
        case "web_search_tool_result":
            own = {"tool_call_id": block["tool_use_id"], "content": block["content"]}
            return {"type": "tool_result", **own, "provider_executed": True}
    hosted = {"provider_executed": True} if block["type"] == "server_tool_use" else {}
    own = {"tool_call_id": block["id"], "tool_name": block["name"], "args": block["input"]}
    return {"type": "tool_start", **own, **hosted}


@many(400)
@given(chaos, options, targets)
def test_rendering_what_was_rendered_changes_nothing(events: list[Event], chosen: Options, target: Any) -> None:
    found = judged(recorded(events), target, chosen)
    if found.sendable and not searches(found):
        named = {**target, "model": body(found).get("model")}
        again = judged(recorded(as_events(found)), named, Options())
        assert again.messages == found.messages
        assert body(again).get("system") == body(found).get("system")


SECRET = "\u2020not to be seen\u2020"


@many(300)
@given(chaos, options, targets)
def test_thinking_that_is_not_the_targets_own_never_leaves(
    events: list[Event], chosen: Options, target: Any
) -> None:
    marked = [{**event, "text": SECRET} if event["type"] == "thinking_complete" else event for event in events]
    found = judged(recorded(marked), {**target, "model": "nobody"}, chosen)
    assert SECRET not in json.dumps(body(found), ensure_ascii=False)


ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


@given(st.lists(st.text(max_size=12) | st.sampled_from("a:b")), st.booleans())
def test_renaming_keeps_names_apart_and_in_their_alphabet(recorded_names: list[str], made_too: bool) -> None:
    if made_too:  # names that were sent once are recorded beside those that they were made from
        recorded_names = [*recorded_names, *map(Names().sent, recorded_names)]
    names = Names()
    sent = {name: names.sent(name) for name in recorded_names}
    assert len(set(sent.values())) == len(sent)
    assert all(value and set(value) <= ALPHABET for value in sent.values())
    assert {name: names.sent(name) for name in recorded_names} == sent
    again = Names()
    assert [again.sent(value) for value in sent.values()] == list(sent.values())

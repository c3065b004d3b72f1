"""Saved requests: what was sent to a provider is sent to it again, whatever the request held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import NotASession
from ledger.events import JsonObject
from replay import replay
from tests.conformance import needs_shared
from tests.imports import FIXTURES, Taken, take_bytes, take_file
from tests.property.ledgers import orderly_ledgers, recorded
from tests.property.replay.sources import recorded_by

MODELS = {"anthropic": "claude-opus-4-5", "openai-chat": "gpt-4.1", "openai-responses": "gpt-5.4"}
KEY = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input"}


def taken(body: Any, source_format: str, name: str = "chat.json") -> Taken:
    return take_bytes(json.dumps(body).encode(), Path(name), source_format)


def again(body: JsonObject, source_format: str, **more: Any) -> JsonObject:
    """The request that the import of a request comes to."""
    target = {"provider": source_format, "model": MODELS[source_format], **more}
    return replay(taken(body, source_format).whole(), "c", target).request


THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"p": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "out"}
CLAUDE: JsonObject = {
    "model": "claude-opus-4-5",
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "ls", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [THINKING, {"type": "text", "text": "Looking."}, TOOL_USE]},
        {"role": "user", "content": [RESULT, {"type": "text", "text": "and?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
    ],
}
CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"p":1}'}}
CHAT: JsonObject = {
    "model": "gpt-4.1",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": "Looking.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "out"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
    ],
}
RESPONSES: JsonObject = {
    "model": "gpt-5.4",
    "instructions": "Be brief.",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": '{"p":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "out"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "more"}]},
    ],
}
BODIES = {"anthropic": CLAUDE, "openai-chat": CHAT, "openai-responses": RESPONSES}


@pytest.mark.parametrize("name", BODIES)
def test_what_was_sent_is_sent_again(name: str) -> None:
    body, key = BODIES[name], KEY[name]
    sent = again(body, name)
    given_items, items = body[key], sent[key]
    assert isinstance(given_items, list)
    assert isinstance(items, list)
    if name == "openai-responses":  # ids of items that are not stored need not go back
        items = [
            {**one, **({"id": old["id"]} if "id" in old else {})}
            for one, old in zip(items, given_items, strict=True)
        ]  # type: ignore[dict-item, operator, index]
    assert items == given_items


@pytest.mark.parametrize("name", BODIES)
def test_a_longer_request_adds_what_is_new_and_an_edited_one_differs(name: str) -> None:
    body, key = BODIES[name], KEY[name]
    items = body[key]
    assert isinstance(items, list)
    whole = taken(body, name).ids()["chat"]
    for count in range(1, len(items)):
        ids = taken({**body, key: items[:count]}, name).ids()["chat"]
        assert whole[: len(ids)] == ids
    edited = json.loads(json.dumps(body).replace("go", "stop"))
    assert taken(edited, name).ids()["chat"] == whole


@pytest.mark.parametrize("name", BODIES)
def test_auto_tells_them_apart(name: str, tmp_path: Path) -> None:
    for value in (BODIES[name], {"request": BODIES[name]}, BODIES[name][KEY[name]]):
        file = tmp_path / "saved.json"
        file.write_text(json.dumps(value))
        assert take_file(file).session.id == "saved"
        assert {record.event.source["format"] for record in take_file(file).whole() if record.event.source} == {
            name
        }  # type: ignore[index]


@pytest.mark.parametrize("name", BODIES)
@settings(max_examples=25)
@given(data=st.data())
def test_requests_of_random_ledgers_are_taken_in_and_sent_again(name: str, data: st.DataObject) -> None:
    """What our own renderer made, imported and rendered again, is the same from then on."""
    records = recorded(data.draw(recorded_by(orderly_ledgers()), "events"))
    found = replay(records, "c", {"provider": name, "model": MODELS[name]})
    if not found.messages:
        return
    once = again(found.request, name)
    assert again(once, name)[KEY[name]] == once[KEY[name]]


def test_reasoning_keeps_the_name_of_its_field() -> None:
    body: JsonObject = {
        "model": "deepseek-reasoner",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "reasoning_content": "hm", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
        ],
    }
    sent = again(body, "openai-chat", model="deepseek-reasoner", dialect="deepseek")
    assert sent["messages"][1]["reasoning_content"] == "hm"  # type: ignore[index, call-overload]


def test_what_is_no_request_is_said() -> None:
    for value in ([], {}, {"messages": []}, {"messages": 7}, 3):
        with pytest.raises(NotASession):
            taken(value, "anthropic")


@needs_shared
def test_the_items_of_openai_agents_are_those_of_a_request() -> None:
    path = FIXTURES / "openai-agents" / "v0.24.0-to_input_list.json"
    these = take_file(path)
    items = json.loads(path.read_bytes())
    called = [item["call_id"] for item in items if item.get("type") == "function_call"]
    made = [event.tool_call_id for event in these.events() if event.type == "tool_start"]
    assert made == called

"""The rules of the AI SDK: the judge beside the package's own schemas, and each mend switched off."""

from __future__ import annotations

from typing import Any

import pytest

from replay import replay
from replay.providers import ai_sdk, ai_sdk_parts, families, names
from replay.providers.reasoning import ReasoningGate
from replay.providers.rules import Judged
from replay.providers.rules.ai_sdk import RULES
from replay.providers.violations import violations
from tests.unit.replay.providers.ai_sdk_messages import (
    CLAUDE,
    GEMINI,
    GPT,
    HIT,
    ITEM,
    NOVA,
    Message,
    a,
    c,
    o,
    r,
    searched,
    t,
    th,
    u,
)
from tests.unit.replay.providers.ai_sdk_shapes import ai_sdk_faults
from tests.unit.replay.providers.rendering import call, records, result, start, text, thinking, user


def media(**more: Any) -> Message:
    return o(r(output={"type": "content", "value": [more]}))


ASKED = {"type": "tool-approval-request", "approvalId": "p1", "toolCallId": "c1"}
ANSWERED = {
    "role": "tool",
    "content": [{"type": "tool-approval-response", "approvalId": "p1", "approved": True}],
}
V4 = {"type": "tool-call", "toolCallId": "c", "toolName": "f", "args": {}}
TAGGED = {"type": "file", "data": {"type": "data", "data": "AAAA"}, "mediaType": "x"}
SYSTEM = {"role": "system", "content": "s"}

# Rules, version, model, whether that version's schema finds it too, messages.
BAD: list[tuple[str, str, str, bool, list[Message]]] = [
    ("X1", "v7", CLAUDE, False, [u(), a(c(), c()), o()]),
    ("X1", "v7", CLAUDE, False, [u(), a(c()), o(r(), r())]),
    ("X2", "v7", CLAUDE, False, [u(), o(r("other"))]),
    ("V1 X2", "v7", CLAUDE, False, [u(), a(c()), u(), o()]),
    ("X5", "v7", CLAUDE, False, [u(), a()]),
    ("X5", "v7", CLAUDE, False, []),
    ("X6", "v7", CLAUDE, False, [u(), a(c(given="{}")), o()]),
    ("V1", "v5", CLAUDE, False, [u(), a(c()), u()]),
    ("V1", "v6", CLAUDE, False, [u(), a(c(), c("c2")), o()]),
    ("V2", "v7", CLAUDE, False, [u(), a(t(" ")), u()]),
    ("V2", "v7", CLAUDE, False, [u(), {"role": "assistant", "content": []}, u()]),
    ("V2", "v7", CLAUDE, False, [u("")]),
    ("V5", "v7", CLAUDE, False, [u(), a(c(providerExecuted=True)), o(), u()]),
    ("V5", "v7", CLAUDE, False, [u(), a(c(), r()), u()]),
    ("V7", "v7", CLAUDE, False, [u(), a(th(), t()), u()]),
    ("V7", "v7", CLAUDE, False, [u(), a(th(google={"thoughtSignature": "AAAA"}), t()), u()]),
    ("V7", "v6", NOVA, False, [u(), a(th(anthropic={"signature": "s"}), t()), u()]),
    ("V7", "v6", GPT, False, [u(), a(th(), t()), u()]),
    ("V8", "v7", GPT, False, [u(), a(th(**ITEM), t()), u(), a(th(**ITEM), t()), u()]),
    ("V11", "v5", CLAUDE, True, [u(), a(c(), ASKED), o(), u()]),
    ("V11", "v7", CLAUDE, False, [u(), a(ASKED), u()]),
    ("V11", "v7", CLAUDE, False, [u(), ANSWERED]),
    ("V12", "v7", CLAUDE, True, [u(), {"role": "bogus", "content": "x"}, u()]),
    ("V12", "v7", CLAUDE, True, [u(), a(V4)]),
    ("V12", "v7", CLAUDE, True, [u(), a(c()), o(r(output="out"))]),
    ("V12", "v7", CLAUDE, True, [u(), a(c()), o(r(output={"type": "text", "value": {}}))]),
    ("V12", "v5", CLAUDE, True, [u(), a(c()), o(r(output={"type": "execution-denied", "reason": "no"}))]),
    ("V12", "v5", CLAUDE, True, [u(), a(c()), media(type="image-data", data="AAAA", mediaType="image/png")]),
    ("V12", "v6", CLAUDE, True, [u([TAGGED])]),
    ("V12", "v7", CLAUDE, False, [u(), a(c(given={"n": 2**1024})), o()]),
    ("V13", "v7", CLAUDE, False, [SYSTEM, u()]),
    ("V13", "v6", CLAUDE, False, [u(), SYSTEM, u()]),
    ("V14", "v7", CLAUDE, False, [u(), a(c(tool="a b")), o(r(tool="a b"))]),
    ("V14", "v7", CLAUDE, False, [u(), a(c("a b")), o(r("a b"))]),
    ("V14", "v7", GPT, False, [u(), a(c("")), o(r(""))]),
    ("V15", "v6", CLAUDE, False, [u([{"type": "image", "image": "not base64!"}])]),
    ("V15", "v6", CLAUDE, False, [u(), a(c()), media(type="file-url", url="ftp://x")]),
    ("V16", "v7", CLAUDE, False, [a(), u()]),
    ("V16", "v7", GEMINI, False, [a(), u()]),
    ("V14", "v7", "mistral-large-latest", False, [u(), a(c("c1")), o(r("c1"))]),
    ("V17", "v7", NOVA, False, [u(), a(c()), o()]),
    ("S1", "v7", CLAUDE, False, [u("\ud800")]),
]  # fmt: skip
GOOD: list[tuple[str, str, list[Message]]] = [
    ("v5", CLAUDE, [SYSTEM, u(), a(th(anthropic={"signature": "s"}), c()), o(), u()]),
    ("v5", CLAUDE, [u(), a(c()), media(type="media", data="AAAA", mediaType="image/png")]),
    ("v6", CLAUDE, [u(), a(c(), ASKED), ANSWERED]),
    ("v6", CLAUDE, [u(), a(c(providerExecuted=True), r(output={"type": "json", "value": []}), t()), u()]),
    ("v6", CLAUDE, [u(), a(c()), o(r(output={"type": "execution-denied", "reason": "no"})), u()]),
    ("v7", NOVA, [u(), a(th(bedrock={"redactedData": "AAAA"}), t()), u()]),
    ("v7", CLAUDE, [u(), a(c(), c("c2")), o(r("c2"), r()), u()]),
    ("v7", "mistral-large-latest", [u(), a(c("a1B2c3D4e")), o(r("a1B2c3D4e"))]),
    ("v7", GPT, [a(), u(), a(th(openai={"itemId": "rs_1", "reasoningEncryptedContent": "E"}), t()), u()]),
    ("v7", "kimi-k2", [u(), a(th(), t()), u([{**TAGGED, "data": "https://x.y/z"}])]),
]  # fmt: skip


def broken(version: str, model: str, messages: list[Message], **more: Any) -> set[str]:
    target = {"provider": "ai-sdk", "model": model, "dialect": version}
    request: Message = {"messages": messages}
    return {one.rule for one in violations(target, request, **more)}


@pytest.mark.parametrize(("rules", "version", "model", "by_schema", "messages"), BAD)
def test_a_bad_history(rules: str, version: str, model: str, by_schema: bool, messages: list[Message]) -> None:
    assert broken(version, model, messages) >= set(rules.split())
    assert bool(ai_sdk_faults({"messages": messages}, version)) or not by_schema


@pytest.mark.parametrize(("version", "model", "messages"), GOOD)
def test_a_good_history(version: str, model: str, messages: list[Message]) -> None:
    assert broken(version, model, messages) == set()
    assert ai_sdk_faults({"messages": messages}, version) == []


def test_every_judged_rule_has_a_bad_history() -> None:
    judged = {name for name, rule in RULES.items() if rule.judged is not Judged.NEVER}
    assert {name for row in BAD for name in row[0].split()} == judged
    assert {f"V{number}" for number in range(1, 13)} <= set(RULES)


def test_the_start_of_a_conversation_may_be_open() -> None:
    assert broken("v7", CLAUDE, [u(), a(c())], sendable=False) == set()
    assert broken("v7", CLAUDE, [u(), a(c()), u(), a()], sendable=False) == {"V1"}


# Without stored responses reasoning needs its content; the SDK stores unless it is told otherwise.
def test_whether_responses_are_stored_decides_what_reasoning_needs() -> None:
    request: Message = {"messages": [u(), a(th(**ITEM), t()), u()]}
    target: Message = {"provider": "ai-sdk", "model": GPT}
    assert violations(target, request) == []
    kept_not: Message = {**request, "providerOptions": {"openai": {"store": False}}}
    assert [one.rule for one in violations(target, kept_not)] == ["V8"]


# -- each mend switched off


WRONG: Message = {"tool_name": "a b", "args": [7]}
HISTORY = [
    user([{"type": "text", "text": "q"}, {"type": "image", "data": "?", "media_type": "image/png"}]),
    start("s1", api="messages"), thinking("s1"), text("s1", "\ud800"), text("s1", " "),
    call("s1", "c 1", **WRONG), result("c 1", {"n": 2**1024}),
    {"type": "system_message", "content": "now"}, user("r", "t2"),
]  # fmt: skip
STARTED = [start("s1"), text("s1"), user("r", "t2")]
CALLED = [user("q"), start("s1"), call("s1"), result()]
ENDED = [user("q"), start("s1"), text("s1")]
DENIED = [
    user("q"), start("s1"), call("s1"),
    {"type": "tool_approval", "turn_id": "t1", "tool_call_id": "c1", "decision": "denied"}, user("r", "t2"),
]  # fmt: skip
TWICE = [
    event
    for turn in ("t1", "t2")
    for event in (
        user("q", turn), start(f"s{turn}", turn, GPT, "openai", api="openai-responses"),
        thinking(f"s{turn}", signature=None, turn=turn, provider_metadata={"openai": {"itemId": "rs_1"}}),
        text(f"s{turn}", turn=turn, provider_metadata={"openai": {"itemId": f"msg_{turn}"}}), user("r", turn),
    )
]  # fmt: skip


def _as_it_is(value: Any, *_: Any) -> Any:
    return value


def _unanchored(self: Any, role: str, content: Any, versions: Any) -> None:
    self._messages.append({"role": role, "content": list(content)})
    self._provenance.append(versions)


def _amid(self: Any, entry: Any, message: Any) -> None:
    self._add(message.role, message.parts, [list(entry.versions) for _ in message.parts])


def _as_clients(self: Any, part: Any, block: Any, _written: Any) -> Any:
    return self._call(block) if block.kind == "call" else None if block.kind == "hosted_result" else part


def _beside(self: Any, part: Any, block: Any, written: Any) -> Any:
    found = BLOCK(self, part, block, written)
    if found is not None:
        found.pop("providerExecuted", None)
    return found


APPROVAL: Message = {"type": "tool-approval-response", "approvalId": "a1", "approved": False}
STORED: Message = {"model": GPT, "stored": True}
BLOCK = ai_sdk.AiSdkWriting._block
WRITING = ai_sdk.AiSdkWriting
MENDS: list[tuple[list[Message], Message, Any, str, Any, str]] = [
    (HISTORY, {}, names.Names, "sent", lambda _, name: name, "V14"),
    (HISTORY, {}, names.Names, "known", lambda _, name: name, "X2"),
    (DENIED + HISTORY[1:], {}, names.Names, "sent", lambda *_: "x", "X1"),
    (HISTORY, {}, ai_sdk, "input_object", _as_it_is, "X6"),
    (HISTORY, {}, ai_sdk, "is_blank", lambda _: False, "V2"),
    (HISTORY, {}, ai_sdk, "sendable_text", _as_it_is, "S1"),
    (HISTORY, {}, ai_sdk, "reasoning_options", lambda *_: {}, "V7"),
    (HISTORY, {}, ai_sdk_parts, "readable", _as_it_is, "V12"),
    (HISTORY, {}, ai_sdk_parts, "_problem", lambda _: None, "V15"),
    (HISTORY, {}, WRITING, "_results", lambda *_: None, "V1"),
    (HISTORY, {}, WRITING, "_entry", _amid, "V13"),
    (STARTED, {}, WRITING, "_add", _unanchored, "V16"),
    (ENDED, {}, WRITING, "_refusal", lambda _: True, "X5"),
    (DENIED, {"dialect": "v5"}, ai_sdk, "dialect_of", lambda _: "v6", "V12"),
    (DENIED, {}, WRITING, "_result_part", lambda *_: {**APPROVAL}, "V11"),
    (TWICE, STORED, ai_sdk, "options_of", lambda *_: {"openai": {"store": False}}, "V8"),
    (TWICE, STORED, ReasoningGate, "_ids", lambda _, step, __: _named(step), "V8"),
    (CALLED, {"model": NOVA}, WRITING, "_stubs", lambda _: {}, "V17"),
    (CALLED, {"model": "mistral-large-latest"}, families.Below, "call_ids", lambda *_: names.Names(), "V14"),
    (CALLED, {"api": "mistral-conversations"}, families.Below, "call_ids", lambda *_: names.Names(), "V14"),
    (searched([HIT]), {}, WRITING, "_block", _as_clients, "V1"),
    (searched([HIT]), {}, WRITING, "_block", _beside, "V5"),
]  # fmt: skip


def _named(step: Any) -> Message:
    return {block: block.provider_metadata["openai"]["itemId"] for block in step.blocks}


def test_bedrock_is_told_the_names_of_tools_that_nothing_defines() -> None:
    def tools(model: str, *before: Message) -> Any:
        target: Message = {"provider": "ai-sdk", "model": model}
        return replay(records([*before, *CALLED]), "c", target).extra.get("tools")

    assert tools(NOVA) == {"read": {"inputSchema": {"type": "object"}}}
    assert tools(CLAUDE) is None
    other = {"name": "other", "input_schema": {"type": "object"}}
    assert list(tools(NOVA, {"type": "context", "digest": "d", "tools": [other]})) == ["other"]


@pytest.mark.parametrize(("events", "more", "place", "attribute", "value", "rule"), MENDS)
def test_without_a_mend_the_judge_finds_the_fault(
    events: list[Message], more: Message, place: Any, attribute: str, value: Any, rule: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    target = {"provider": "ai-sdk", "model": CLAUDE, **more}
    found = replay(records(events), "c", target)
    assert violations(target, found.request, sendable=found.sendable) == []
    monkeypatch.setattr(place, attribute, value)
    wrong = replay(records(events), "c", target)
    assert rule in [one.rule for one in violations(target, wrong.request, sendable=wrong.sendable)]

"""Requests to the AI SDK, exactly: native replay, what versions spell differently, what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.errors import BadInput
from replay import Result, replay
from replay.providers import ai_sdk_hosted, ai_sdk_options
from replay.providers.violations import violations
from tests.unit.replay.providers.ai_sdk_messages import (
    CLAUDE,
    GEMINI,
    GPT,
    HIT,
    ITEM,
    NOVA,
    SEARCH,
    VERSIONS,
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
from tests.unit.replay.providers.rendering import call, codes, records, result, start, text, thinking, user


def answer(*events: Message, model: str | None = CLAUDE, version: str = "v7", **more: Any) -> Result:
    target = {"provider": "ai-sdk", "model": model, "dialect": version, **more}
    found = replay(records(events), "c", target)
    assert violations(target, found.request, sendable=found.sendable) == []
    if found.sendable:
        assert ai_sdk_faults(found.request, version) == []
    return found


def test_a_step_is_one_message_and_its_results_stand_right_behind_it() -> None:
    found = answer(
        user("q"), start("s1"), thinking("s1"), text("s1", "Both."), call("s1"), call("s1", "c2"),
        result("c2", "two", is_error=True), result("c1", {"n": 1}), start("s2"), text("s2", "So."),
        user("r", "t2"),
    )  # fmt: skip
    value, failed = {"type": "json", "value": {"n": 1}}, {"type": "error-text", "value": "two"}
    assert found.messages == [
        u([t("q")]),
        a(th(anthropic={"signature": "sig"}), t("Both."), c(tool="read"), c("c2", "read")),
        o(r("c1", value, "read"), r("c2", failed, "read")),
        a(t("So.")),
        u([t("r")]),
    ]  # fmt: skip
    assert found.provenance == [[[1]], [[3], [4], [5], [6]], [[8], [7]], [[10]], [[11]]]
    assert found.diagnostics == []
    assert found.request["model"] == CLAUDE


NATIVE: list[tuple[str, str | None, str, str | None, Message, Message]] = [
    ("anthropic", "messages", CLAUDE, "sig", {}, {"anthropic": {"signature": "sig"}}),
    (
        "openai", "openai-responses", GPT, None,
        {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "E"}},
        {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "E"}},
    ),
    (
        "google", "google-generative-ai", GEMINI, None,
        {"google": {"thoughtSignature": "AAAA"}}, {"google": {"thoughtSignature": "AAAA"}},
    ),
    ("amazon-bedrock", "bedrock-converse-stream", NOVA, "sig", {}, {"bedrock": {"signature": "sig"}}),
    ("google.generative-ai", None, GEMINI, None, {"google": {"thoughtSignature": "AAAA"}},
     {"google": {"thoughtSignature": "AAAA"}}),
    (
        "amazon-bedrock", "bedrock-converse-stream", NOVA, None,
        {"bedrock": {"redactedData": "AAAA"}}, {"bedrock": {"redactedData": "AAAA"}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "api", "model", "signature", "recorded", "sent"), NATIVE)
def test_reasoning_goes_back_through_the_namespace_of_its_provider(
    provider: str, api: str | None, model: str, signature: str | None, recorded: Message, sent: Message
) -> None:
    events = [
        user("q"), start("s1", model=model, provider=provider, api=api),
        thinking("s1", signature=signature, provider_metadata=recorded), text("s1"), user("r", "t2"),
    ]  # fmt: skip
    found = answer(*events, model=model)
    redacted = "redactedData" in recorded.get("bedrock", {})  # what is redacted has no text
    assert found.messages[1] == a(th("" if redacted else "hm", **sent), t("words"))
    assert found.diagnostics == []
    assert answer(*events, model=None).messages == found.messages  # the history says who is below
    other = GPT if model == CLAUDE else CLAUDE
    foreign = answer(*events, model=other)
    assert foreign.messages[1] == a(t("words"))
    assert codes(foreign) == ["foreign_thinking_skipped"]
    assert answer(*events, model=model, rung="no-thinking").messages[1] == a(t("words"))


def test_geminis_signature_stands_on_the_call_that_it_came_with() -> None:
    signed = call("s1", provider_metadata={"google": {"thoughtSignature": "AAAA"}})
    own = start("s1", model=GEMINI, provider="google", api="google-generative-ai")
    found = answer(user("q"), own, signed, result(), model=GEMINI)
    options = {"google": {"thoughtSignature": "AAAA"}}
    assert found.messages[1] == a(c(tool="read", providerOptions=options))


def test_a_stored_response_goes_by_its_item_ids() -> None:
    events = [
        user("q"), start("s1", model=GPT, provider="openai", api="openai-responses"),
        thinking("s1", signature=None, provider_metadata={"openai": {"itemId": "rs_1"}}),
        text("s1", provider_metadata={"openai": {"itemId": "msg_1"}}), user("r", "t2"),
    ]  # fmt: skip
    stored = answer(*events, model=GPT, stored=True)
    assert stored.messages[1] == a(th(**ITEM), t("words", providerOptions={"openai": {"itemId": "msg_1"}}))
    assert stored.extra["providerOptions"] == {"openai": {"store": True}}
    kept_not = answer(*events, model=GPT)
    assert kept_not.messages[1] == a(t("words"))
    assert kept_not.extra["providerOptions"] == {"openai": {"store": False}}
    assert codes(kept_not) == ["unsigned_thinking_skipped"]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_provider_ran_stands_in_the_assistants_message(version: str) -> None:
    found = answer(*searched([HIT]), version=version)
    hit: Message = {
        "type": "web_search_result",
        "url": "u",
        "title": "t",
        "encryptedContent": "E",
        "pageAge": None,
    }
    assert found.messages[1] == a(
        c("srvtoolu_1", "web_search", {"query": "x"}, providerExecuted=True),
        r("srvtoolu_1", {"type": "json", "value": [hit]}, "web_search"),
        t("words"),
    )
    own = "provider-defined" if version == "v5" else "provider"
    assert found.extra["tools"] == {
        "read": {"description": "Reads.", "inputSchema": {"type": "object", "maximum": str(2**60)}},
        "web_search": {
            "type": own, "id": "anthropic.web_search_20250305", "name": "web_search", "args": {"max_uses": 3},
        },
    }  # fmt: skip
    assert codes(found) == ["tool_definition_skipped"]


@pytest.mark.parametrize("events", [searched("text"), searched([HIT])[1:], searched([{**HIT, "url": 7}])])
def test_what_cannot_go_back_to_who_ran_it_is_left_out_in_pairs(events: list[Message]) -> None:
    found = answer(*events)
    assert found.messages[1] == a(t("words"))
    assert codes(found).count("hosted_block_skipped") == 2
    assert answer(*searched([HIT]), model=GPT).messages[1] == a(t("words"))


PICTURE = {"type": "image", "data": "AAAA", "media_type": "image/png"}
PDF = {"type": "file", "data": "AAAA", "media_type": "application/pdf", "filename": "a.pdf"}
LINK = {"type": "image", "url": "https://x.y/z.png", "media_type": "image/png"}


def test_images_and_files_by_version() -> None:
    def of(version: str) -> tuple[Any, Any]:
        content = [{"type": "text", "text": "see"}, PICTURE, PDF, LINK]
        found = answer(user(content), start("s1"), call("s1"), result(content=content), version=version)
        output: Any = found.messages[2]
        return found.messages[0]["content"], output["content"][0]["output"]["value"]

    pdf = {"type": "file", "data": "AAAA", "mediaType": "application/pdf", "filename": "a.pdf"}
    image = {"type": "image", "image": "AAAA", "mediaType": "image/png"}
    asked = [t("see"), image, pdf, {**image, "image": LINK["url"]}]
    said = t("[image left out: this version takes no URL in a result]")
    held: Message = {"type": "media", "data": "AAAA"}
    told = [t("see"), {**held, "mediaType": "image/png"}, {**held, "mediaType": "application/pdf"}, said]
    assert of("v5") == (asked, told)
    url = {"type": "image-url", "url": LINK["url"]}
    assert of("v6") == (asked, [
        t("see"), {"type": "image-data", "data": "AAAA", "mediaType": "image/png"},
        {"type": "file-data", "data": "AAAA", "mediaType": "application/pdf"}, url,
    ])  # fmt: skip
    file = {"type": "file", "data": "AAAA", "mediaType": "image/png"}
    held = {"type": "file", "data": {"type": "data", "data": "AAAA"}}
    assert of("v7") == (
        [t("see"), file, pdf, {**file, "data": LINK["url"]}],
        [t("see"), {**held, "mediaType": "image/png"}, {**held, "mediaType": "application/pdf"}, url],
    )


def test_images_of_an_error_stand_behind_the_results() -> None:
    failed = result(content=[PICTURE], is_error=True)
    found = answer(user("q"), start("s1"), call("s1"), failed)
    lost = {"type": "error-text", "value": "[the tool failed without a message]"}
    picture = {"type": "file", "data": "AAAA", "mediaType": "image/png"}
    assert found.messages[2:] == [o(r(output=lost, tool="read")), u([picture])]
    assert codes(found) == ["error_media_moved"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_denied_call_is_answered(version: str) -> None:
    """And the approval itself is no part of the request (V11)."""
    denied: Message = {"type": "tool_approval", "turn_id": "t1", "tool_call_id": "c1", "decision": "denied"}
    found = answer(user("q"), start("s1"), call("s1"), denied, user("r", "t2"), version=version)
    said = "[the call was denied; it did not run]"
    output: Message = {"type": "execution-denied", "reason": said}
    if version == "v5":
        output = {"type": "error-text", "value": said}
    assert found.messages[1:3] == [a(c(tool="read")), o(r(output=output, tool="read"))]


@pytest.mark.parametrize(
    ("number", "sent"),
    [
        (2**53, 2**53),
        (2**53 + 1, str(2**53 + 1)),
        (-(2**63), str(-(2**63))),
        (2**1024, str(2**1024)),
        (0.5, 0.5),
    ],
)
def test_a_number_that_javascript_would_change_is_text(number: Any, sent: Any) -> None:
    found = answer(user("q"), start("s1"), call("s1", args={"n": [number]}), result(content={"m": number}))
    assert found.messages[1] == a(c(tool="read", given={"n": [sent]}))
    assert found.messages[2] == o(r(output={"type": "json", "value": {"m": sent}}, tool="read"))
    assert codes(found) == ["number_as_text"] * 2 * (number != sent)


def test_what_stands_beside_the_messages() -> None:
    settings: Message = {
        "temperature": 0.5, "top_p": 2, "topP": 0.5, "max_tokens": 9, "tool_choice": "required", "seed": 1,
    }  # fmt: skip
    context = {**SEARCH, "system": "Be brief.", "settings": settings}
    early = {"type": "system_message", "content": "Be kind."}
    late = {"type": "system_message", "content": "now"}
    thinks = {"type": "enabled", "budget_tokens": 9}
    found = answer(early, context, user("q"), start("s1"), text("s1"), late, thinking=thinks)
    assert found.request["instructions"] == "Be brief.\n\nBe kind."
    assert found.messages[-1] == u([t("<system>\nnow\n</system>")])
    assert {key: value for key, value in found.extra.items() if key != "tools"} == {
        "model": CLAUDE, "temperature": 0.5, "topP": 0.5, "maxOutputTokens": 9, "toolChoice": "required",
        "providerOptions": {"anthropic": {"thinking": {"type": "enabled", "budgetTokens": 9}}},
    }  # fmt: skip
    assert answer(early, user("q"), version="v6").request["system"] == "Be kind."


def test_thinking_goes_off_in_an_open_loop_that_did_not_start_with_it() -> None:
    thinks = {"type": "enabled", "budget_tokens": 9}
    for failed in (result(), result(content=[PICTURE], is_error=True)):
        found = answer(user("q"), start("s1"), call("s1"), failed, thinking=thinks)
        assert found.extra["providerOptions"] == {"anthropic": {"thinking": {"type": "disabled"}}}
        assert "thinking_off" in codes(found)


def test_a_history_that_starts_with_the_assistant_gets_an_anchor() -> None:
    found = answer(start("s1"), text("s1"), user("r", "t2"))
    assert found.messages[0] == u([t("[the conversation starts with the assistant]")])
    assert found.provenance[0] == [[]]


def test_the_models_own_end_is_not_sendable() -> None:
    found = answer(user("q"), start("s1"), text("s1"))
    assert not found.sendable
    assert codes(found) == ["nothing_to_answer"]


def test_there_are_three_versions() -> None:
    with pytest.raises(BadInput, match="v5, v6, v7"):
        replay(records([user("q")]), "c", {"provider": "ai-sdk", "dialect": "v4"})
    assert replay(records([user("q")]), "c", "ai-sdk").request == {"messages": [u([t("q")])]}


def test_without_the_check_of_what_ran_it_a_result_goes_where_it_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ai_sdk_hosted, "_are_hits", lambda _: True)
    assert answer(*searched("text")).messages[1]["content"] != [t("words")]


def test_without_the_merging_of_neighbours_thinking_stays_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ai_sdk_options, "in_force", lambda config, _: config)
    thinks = {"type": "enabled", "budget_tokens": 9}
    found = answer(user("q"), start("s1"), call("s1"), result(), thinking=thinks)
    assert found.extra["providerOptions"] != {"anthropic": {"thinking": {"type": "disabled"}}}

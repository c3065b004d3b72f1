"""Requests to Bedrock's Converse: what they look like, the judge beside the service model, and each mend."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay import Result, replay
from replay.providers import bedrock, bedrock_blocks, bedrock_families, bedrock_settings, bedrock_thinking
from replay.providers.rules import Judged
from replay.providers.rules.bedrock import RULES
from replay.providers.violations import violations
from tests.unit.replay.providers.bedrock_shapes import bedrock_faults
from tests.unit.replay.providers.rendering import call, codes, records, result, start, text, thinking, user

Item = dict[str, Any]
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NEWEST = "us.anthropic.claude-opus-5-5-v1:0"
BOUND = "anthropic.claude-opus-5-5-v1:0"
NOVA = "amazon.nova-pro-v1:0"
LLAMA = "meta.llama4-maverick-17b-instruct-v1:0"
WRITER = "writer.palmyra-x5-v1:0"
ANY_TOOL = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}
DOTS = {"text": "."}


def t(words: Any = "x") -> Item:
    return {"text": words}


def u(*blocks: Item) -> Item:
    return {"role": "user", "content": list(blocks) or [t()]}


def a(*blocks: Item) -> Item:
    return {"role": "assistant", "content": list(blocks) or [t()]}


def c(call_id: str = "c1", **more: Any) -> Item:
    return {"toolUse": {"toolUseId": call_id, "name": "f", "input": {}, **more}}


def r(name: str = "c1", *blocks: Item, **more: Any) -> Item:
    return {"toolResult": {"toolUseId": name, "content": list(blocks) or [t("out")], **more}}


def th(words: str = "hm", signature: str | None = "sig") -> Item:
    sealed = {} if signature is None else {"signature": signature}
    return {"reasoningContent": {"reasoningText": {"text": words, **sealed}}}


def doc(name: str = "a", form: str = "pdf") -> Item:
    return {"document": {"format": form, "name": name, "source": {"bytes": "QUJD"}}}


IMAGE = {"image": {"format": "png", "source": {"bytes": "QUJD"}}}
POINT = {"cachePoint": {"type": "default"}}

# Rules, whether the service model finds it too, model, messages.
BAD: list[tuple[str, bool, str, list[Item]]] = [
    ("X5", False, CLAUDE, [u(), a()]),
    ("X5", False, CLAUDE, []),
    ("B1", False, CLAUDE, [u(), a(c()), u()]),
    ("B1", False, CLAUDE, [u(), a(c(), c("c2")), u(r("c2"))]),
    ("B2", False, CLAUDE, [u(r())]),
    ("B2", False, CLAUDE, [u(), a(c()), u(r()), a(), u(r())]),
    ("B4", True, CLAUDE, [u(), a(c("c|1")), u(r("c|1"))]),
    ("B4", True, CLAUDE, [u(), a(c("c" * 65)), u(r("c" * 65))]),
    ("B4", True, CLAUDE, [u(), a(c(name="a.b")), u(r())]),
    ("B5", False, CLAUDE, [u(t(" "))]),
    ("B5", False, CLAUDE, [u(), a(t("")), u()]),
    ("B5", False, CLAUDE, [{"role": "user", "content": []}]),
    ("B6", False, CLAUDE, [u(), a(th(signature=None), t()), u()]),
    ("B6", False, CLAUDE, [u(), a(t(), th()), u()]),
    ("B7 B1", False, CLAUDE, [u(), a(c(), c()), u()]),
    ("B7", False, CLAUDE, [u(), a(c()), u(r(), r())]),
    ("B8", False, CLAUDE, [u(), a(c(), t()), u(r())]),
    ("B9", False, NOVA, [a(), u()]),
    ("B9", False, CLAUDE, [u(), u()]),
    ("B10", False, CLAUDE, [u(), a(c()), u(r(), doc(), t())]),
    ("B10", False, LLAMA, [u(), a(c()), u(r(), t())]),
    ("B11", False, CLAUDE, [u(doc())]),
    ("B11", False, CLAUDE, [u(doc(), t()), a(), u(doc(), t())]),
    ("B11", False, CLAUDE, [u(doc("a_b.pdf"), t())]),
    ("B11", True, CLAUDE, [u(doc("a" * 201), t())]),
    ("B12", False, CLAUDE, [u(), a(c()), u({"toolResult": {"toolUseId": "c1", "content": []}})]),
    ("B12", False, CLAUDE, [u(), a(c()), u(r("c1", IMAGE, status="error"))]),
    ("B12", False, WRITER, [u(), a(c()), u(r(status="error"))]),
    ("B13", True, CLAUDE, [u({"text": "x", **IMAGE})]),
    ("B13", True, CLAUDE, [u({})]),
    ("B13", True, CLAUDE, [u(), a({"reasoningContent": {}}, t()), u()]),
    ("B14", False, CLAUDE, [u(POINT, t())]),
    ("B14", False, CLAUDE, [u(t(), POINT, POINT)]),
    ("S1", False, CLAUDE, [u(t("\ud800"))]),
    ("S2", True, CLAUDE, [{"role": "bogus", "content": [t()]}, u()]),
    ("S2", True, CLAUDE, [{**u(), "name": "x"}]),
    ("S2", True, CLAUDE, [u({"type": "text"})]),
    ("S2", True, CLAUDE, [u(t(3))]),
    ("S2", True, CLAUDE, [u(doc(form="zip"), t())]),
    ("S2", True, CLAUDE, [u({"image": {"format": "png", "source": {"bytes": "?"}}})]),
    ("S2", False, CLAUDE, [u(), a(c(input="x")), u(r())]),
    ("S2", True, CLAUDE, [u(), a(c()), u(r(status="bad"))]),
]
GOOD: list[tuple[str, list[Item]]] = [
    (CLAUDE, [u(), a(th(), t(), c(), c("c.2:x")), u(r("c.2:x", IMAGE), r(status="error"), t(), IMAGE)]),
    (CLAUDE, [u(), a(th(), c(), th(), c("c2")), u(r(), r("c2", {"json": {"x": 1}}))]),
    (CLAUDE, [a(), u(doc("a"), doc("a (1) [x]-2"), t(), POINT)]),
    (LLAMA, [u(), a(t(), c()), u(r()), a(DOTS), u()]),
]


def body(model: str, messages: Any, **more: Any) -> Item:
    return {"modelId": model, "messages": messages, "toolConfig": ANY_TOOL, **more}


def broken(model: str, messages: Any, request: Item | None = None, **more: Any) -> set[str]:
    found = violations({"provider": "bedrock", "model": model}, request or body(model, messages), **more)
    return {one.rule for one in found}


@pytest.mark.parametrize(("rules", "by_vendor", "model", "messages"), BAD)
def test_a_bad_history(rules: str, by_vendor: bool, model: str, messages: list[Item]) -> None:
    assert broken(model, messages) == set(rules.split())
    assert bool(bedrock_faults(body(model, messages))) == by_vendor


@pytest.mark.parametrize(("model", "messages"), GOOD)
def test_a_good_history(model: str, messages: list[Item]) -> None:
    assert broken(model, messages) == set()
    assert bedrock_faults(body(model, messages)) == []


# Rule, whether the service model finds it too, what stands beside the messages.
BESIDE: list[tuple[str, bool, Item]] = [
    ("B3", False, {"toolConfig": None}),
    ("B4", True, {"toolConfig": {"tools": [{"toolSpec": {"name": "a.b", "inputSchema": {"json": {}}}}]}}),
    ("B5", False, {"system": [t(" ")]}),
    ("B13", True, {"system": [{"type": "text", "text": "x"}]}),
    ("B13", True, {"toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {}}}]}}),
    ("S2", True, {"toolConfig": {"tools": []}}),
    ("S2", True, {"max_tokens": 3}),
    ("B6", False, {"additionalModelRequestFields": {"thinking": {"type": "enabled"}}}),
    ("S3", False, {"modelId": NEWEST, "additionalModelRequestFields": {"thinking": {"type": "disabled"}}}),
]


@pytest.mark.parametrize(("rule", "by_vendor", "more"), BESIDE)
def test_what_stands_beside_a_bad_history(rule: str, by_vendor: bool, more: Item) -> None:
    request = {**body(CLAUDE, [u(), a(c()), u(r())]), **more}
    request = {key: value for key, value in request.items() if value is not None}
    assert broken(CLAUDE, None, request) == {rule}
    assert bool(bedrock_faults(request)) == by_vendor


def test_every_rule_has_a_bad_history() -> None:
    judged = {rule.id for rule in RULES.values() if rule.judged is Judged.REQUEST}
    rows = {name for rules, *_ in BAD for name in rules.split()} | {rule for rule, *_ in BESIDE}
    assert rows == judged == set(RULES)


def test_the_start_of_a_conversation_may_be_open() -> None:
    assert broken(CLAUDE, [u(), a(c())], sendable=False) == set()
    assert broken(CLAUDE, [u(), a(c()), u(), a(c("c2"))], sendable=False) == {"B1"}


def test_reasoning_is_judged_beside_the_responses() -> None:
    kept = [u(), a(th(), c()), u(r())]
    assert broken(CLAUDE, kept, original=[[th(), c()]]) == set()
    assert broken(CLAUDE, kept, original=[[th("other"), c()]]) == {"B6"}


@pytest.mark.parametrize(
    "given", [{}, {"messages": 3}, {"messages": [3, None, {}]}, {"messages": [u()], "system": 3}]
)
def test_anything_can_be_judged(given: Item) -> None:
    assert violations("bedrock", given)


NAMES = (
    "text", "image", "document", "toolUse", "toolResult", "reasoningContent", "reasoningText",
    "redactedContent",
    "cachePoint", "toolUseId", "name", "input", "content", "status", "source", "bytes", "format", "signature",
    "toolSpec", "inputSchema", "json", "tools", "thinking", "type",
)  # fmt: skip
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-1, 3) | st.sampled_from(("", " ", "x", "png", "error", "enabled", "\ud800")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=20,
)
any_message = st.fixed_dictionaries({"role": st.sampled_from(("user", "assistant")), "content": anything})


@given(
    messages=st.lists(any_message, max_size=3),
    beside=st.dictionaries(
        st.sampled_from(("system", "toolConfig", "modelId", "additionalModelRequestFields")), anything
    ),
)
def test_any_content_is_judged(messages: list[Item], beside: Item) -> None:
    request: Item = {"modelId": CLAUDE, **beside, "messages": messages}
    for one in violations("bedrock", request, original=[[th()]]):
        assert one.rule in RULES
        assert one.where


# -- the renderer


def answer(*events: dict[str, Any], model: str = CLAUDE, **target: Any) -> Result:
    spelled = {"provider": "bedrock", "model": model, **target}
    found = replay(records(events), "c", spelled)
    assert violations(spelled, found.request, sendable=found.sendable) == []
    assert bedrock_faults(found.request) == []
    return found


def own(step: str = "s1", turn: str = "t1", model: str = CLAUDE, **more: Any) -> dict[str, Any]:
    return start(step, turn, model, "amazon-bedrock", api="bedrock-converse-stream", **more)


PNG = {"type": "image", "media_type": "image/png", "data": "QUJD"}
PDF = {"type": "file", "media_type": "application/pdf", "data": "QUJD", "filename": "a_b.pdf"}


def test_a_request() -> None:
    found = answer(
        {"type": "context", "digest": "d", "system": "Be brief.",
         "settings": {"max_tokens": 9, "temperature": 0.5, "top_p": 1,
                      "tool_choice": {"type": "tool", "name": "a.b"}, "stop_sequences": ["END", ""], "x": 1},
         "tools": [{"name": "a.b", "description": "Reads.", "input_schema": {"type": "object"}}]},
        {"type": "system_message", "content": "Now."},
        user([{"type": "text", "text": "q"}, PNG, PDF]),
        own(),
        thinking("s1", "hm"),
        text("s1", "Looking."),
        call("s1", "c|1", {"path": "ä"}, tool_name="a.b"),
        call("s1", "c:2", {}, tool_name="a.b"),
        result("c:2", [{"type": "text", "text": "seen"}, PNG]),
        result("c|1", [{"type": "text", "text": "gone"}, PNG], is_error=True),
        {"type": "system_message", "content": "Hurry."},
    )  # fmt: skip
    tools: Any = found.request["toolConfig"]
    name = tools["tools"][0]["toolSpec"]["name"]
    one = found.messages[1]["content"][2]["toolUse"]["toolUseId"]  # type: ignore[index,call-overload]
    assert name != "a.b"
    assert one != "c|1"
    assert found.request == {
        "modelId": CLAUDE,
        "system": [t("Be brief."), t("Now.")],
        "inferenceConfig": {"maxTokens": 9, "temperature": 0.5, "stopSequences": ["END"]},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": name, "description": "Reads.",
                                    "inputSchema": {"json": {"type": "object"}}}}],
            "toolChoice": {"tool": {"name": name}},
        },
        "messages": [
            u(t("q"), IMAGE, doc("a b pdf")),
            a(th(), t("Looking."), c(one, name=name, input={"path": "ä"}), c("c:2", name=name)),
            u(r(one, t("gone"), status="error"), r("c:2", t("seen"), IMAGE), IMAGE,
              t("<system>\nHurry.\n</system>")),
        ],
    }  # fmt: skip
    assert found.provenance[1] == [[5], [6], [7], [8]]
    assert found.sendable


def test_manual_thinking_goes_beside_the_messages_and_off_where_the_loop_did_not_start_with_it() -> None:
    manual = {"type": "enabled", "budget_tokens": 2048}
    events = [user("q"), own(), thinking("s1"), call("s1"), result()]
    found = answer(*events, thinking=manual)
    assert found.extra["additionalModelRequestFields"] == {"thinking": manual}
    found = answer(*events[:2], *events[3:], thinking=manual)
    assert found.extra["additionalModelRequestFields"] == {"thinking": {"type": "disabled"}}
    assert codes(found) == ["thinking_off"]
    nova = answer(user("q"), model=NOVA, thinking={"reasoningConfig": {"type": "enabled"}})
    assert nova.extra["additionalModelRequestFields"] == {"reasoningConfig": {"type": "enabled"}}


def test_redacted_thinking_goes_back_as_bytes() -> None:
    sealed = {**thinking("s1", "", None), "redacted_data": "QUJD"}
    found = answer(user("q"), own(), sealed, text("s1"), user("r", "t2"))
    assert found.messages[1] == a({"reasoningContent": {"redactedContent": "QUJD"}}, t("words"))
    damaged = answer(user("q"), own(), {**sealed, "redacted_data": "?"}, text("s1"), user("r", "t2"))
    assert damaged.messages[1] == a(t("words"))
    assert codes(damaged) == ["damaged_thinking_skipped"]


@pytest.mark.parametrize(
    "maker",
    [
        start("s1", model=CLAUDE, provider="anthropic"),
        own(model=BOUND),
        own() | {"api": "messages"},
    ],
)
def test_thinking_of_another_maker_is_left_out(maker: dict[str, Any]) -> None:
    found = answer(user("q"), maker, thinking("s1"), text("s1"), user("r", "t2"))
    assert found.messages[1] == a(t("words"))
    assert codes(found) == ["foreign_thinking_skipped"]


def test_unsigned_thinking_and_thinking_at_the_end_are_left_out_with_what_follows_in_the_turn() -> None:
    unsigned = answer(user("q"), own(), thinking("s1", signature=None), text("s1"), user("r", "t2"))
    assert codes(unsigned) == ["unsigned_thinking_skipped"]
    tail = [
        user("q"),
        own(),
        call("s1", block_index=0),
        thinking("s1", block_index=1),
        result(),
        own("s2"),
        thinking("s2"),
        text("s2"),
    ]
    found = answer(*tail, user("r", "t2"))
    assert [list(message["content"]) for message in found.messages] == [  # type: ignore[arg-type]
        [t("q")], [c(name="read")], [r()], [t("words")], [t("r")],
    ]  # fmt: skip
    assert codes(found) == ["thinking_tail_skipped", "thinking_suffix_skipped"]
    alone = answer(user("q"), own(), thinking("s1"), user("r", "t2"))
    assert alone.messages == [u(t("q"), t("r"))]
    assert codes(alone) == ["thinking_only_step_skipped"]


@pytest.mark.parametrize(("model", "lost"), [(CLAUDE, 1), (BOUND, 2)])
def test_a_model_that_binds_thinking_gets_none_after_what_is_missing(model: str, lost: int) -> None:
    lost_tail = [own(model=model), text("s1", block_index=0), thinking("s1", block_index=1)]
    later = [own("s2", "t2", model), thinking("s2", turn="t2"), text("s2", turn="t2"), user("s", "t3")]
    events = [user("q"), *lost_tail, user("r", "t2"), *later]
    assert len(codes(answer(*events, model=model))) == lost


FAILED = [user("q"), own(), text("s1"), call("s1"), result(content=[PNG, PDF], is_error=True), user("r", "t2")]


@pytest.mark.parametrize("model", [CLAUDE, NOVA])
def test_documents_stand_apart_from_results(model: str) -> None:
    found = answer(*FAILED, model=model)
    failed = r("c1", t("[the tool failed without a message]"), status="error")
    assert found.messages[2:] == [u(failed), a(DOTS), u(IMAGE, doc("a b pdf"), DOTS, t("r"))]
    assert codes(found) == ["error_media_moved"]
    assert found.provenance[3:] == [[[]], [[5], [5], [], [6]]]


@pytest.mark.parametrize("model", [LLAMA, WRITER, "big"])
def test_a_strict_family_gets_nothing_beside_results_and_no_status(model: str) -> None:
    events = [user("q"), call("s1"), result(content=[{"type": "text", "text": "no"}, PNG], is_error=True)]
    found = answer(*events, user("r", "t2"), model=model)
    assert found.messages[2:] == [u(r("c1", t("[error] no"))), a(DOTS), u(IMAGE, t("r"))]


def test_documents_have_names_of_their_own() -> None:
    named = [{**PDF, "filename": name} for name in ("a b 2", "a_b", "a.b", "a b", "", "x" * 300)]
    csv = {"type": "file", "media_type": "text/csv", "text": "1,2"}
    found = answer(user([*named, csv]))
    names = [block["document"]["name"] for block in found.messages[0]["content"][:-1]]  # type: ignore[index,union-attr,call-overload]
    assert names == ["a b 2", "a b", "a b 3", "a b 4", "document", "x" * 180, "document 2"]
    assert found.messages[0]["content"][-1] == DOTS  # type: ignore[index,call-overload]


def test_what_cannot_be_sent_is_said_in_text() -> None:
    blocks = [
        {"type": "image", "url": "https://x/y.png"},
        {"type": "image", "media_type": "image/bmp", "data": "QUJD"},
        {"type": "file", "media_type": "application/zip", "data": "QUJD"},
        {"type": "file", "media_type": "application/pdf", "data": "?"},
        {"type": "file", "text": " "},
        {"type": "other"},
    ]
    found = answer(user(blocks))
    assert codes(found) == ["content_stand_in"] * 6
    assert all(set(block) == {"text"} for block in found.messages[0]["content"])  # type: ignore[union-attr,arg-type]


def test_tools_that_were_called_are_declared_though_no_context_names_any() -> None:
    found = answer(user("q"), own(), call("s1"), call("s1", "c2", tool_name="a.b"), result(), result("c2"))
    names = [tool["toolSpec"]["name"] for tool in found.extra["toolConfig"]["tools"]]  # type: ignore[index,union-attr,call-overload]
    assert names[0] == "read"
    assert len(names) == 2
    assert "toolConfig" not in answer(user("q")).extra


def test_the_order_is_kept_beside_thinking_and_made_without() -> None:
    events = [
        user("q"),
        own(),
        thinking("s1", block_index=0),
        call("s1", block_index=1),
        text("s1", block_index=2),
        result(),
    ]
    kept = [next(iter(block)) for block in answer(*events).messages[1]["content"]]  # type: ignore[union-attr,arg-type,call-overload]
    assert kept == ["reasoningContent", "toolUse", "text"]
    made = [next(iter(block)) for block in answer(*events, rung="no-thinking").messages[1]["content"]]  # type: ignore[union-attr,arg-type,call-overload]
    assert made == ["text", "toolUse"]


def test_hosted_blocks_and_blank_texts_are_left_out_and_said() -> None:
    found = answer(
        user(" "), own(), call("s1", "c9", provider_executed=True), result("c9", provider_executed=True),
        text("s1", " "), text("s1"), user("q", "t2"),
    )  # fmt: skip
    assert found.messages[1:] == [a(t("words")), u(t("q"))]
    assert sorted(codes(found)) == [
        "assistant_first_anchored", "blank_text_skipped", "blank_text_skipped",
        "hosted_block_skipped", "hosted_block_skipped",
    ]  # fmt: skip


def test_the_models_own_end_is_not_sendable() -> None:
    found = answer(user("q"), own(), text("s1"))
    assert not found.sendable
    assert codes(found) == ["nothing_to_answer"]


@pytest.mark.parametrize(
    ("model", "family"),
    [
        (CLAUDE, "anthropic"),
        ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama3-3-70b-instruct-v1:0", "meta"),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0", "amazon"),
        ("eu.mistral.pixtral-large-2502-v1:0", "mistral"),
        ("qwen.qwen3-32b-v1:0", "qwen"),
        ("big", "unknown"),
        (None, "unknown"),
    ],
)
def test_the_family_is_told_by_the_model(model: str | None, family: str) -> None:
    assert bedrock_families.family_of(model).name == family


@pytest.mark.parametrize(
    ("choice", "model", "sent"),
    [
        ("required", CLAUDE, {"any": {}}),
        ("auto", LLAMA, {"auto": {}}),
        ("required", LLAMA, None),
        ("none", CLAUDE, None),
        ({"type": "tool", "name": "absent"}, CLAUDE, None),
    ],
)
def test_a_choice_among_tools_goes_where_the_family_takes_it(choice: Any, model: str, sent: Any) -> None:
    context = {"type": "context", "digest": "d", "settings": {"tool_choice": choice, "top_p": 0.5},
               "tools": [{"name": "f", "input_schema": {"type": "object"}}]}  # fmt: skip
    found = answer(context, user("q"), model=model)
    assert found.extra["toolConfig"].get("toolChoice") == sent  # type: ignore[union-attr]
    assert found.extra["inferenceConfig"] == {"topP": 0.5}
    thinks = answer(context, user("q"), thinking={"type": "adaptive"})
    assert thinks.extra["toolConfig"].get("toolChoice") in (None, {"auto": {}})  # type: ignore[union-attr]
    assert "inferenceConfig" not in thinks.extra


# -- each mend switched off


HISTORY = [
    text("s0", "first", "t0"), user(" "), user([PDF, {"type": "text", "text": "\ud800"}]),
    own(), text("s1", " ", block_index=0), call("s1", "c|1", "text", tool_name="a.b", block_index=1),
    text("s1", block_index=2),
    result("c|1", [PDF, PNG], is_error=True),
    user([PDF], "t2"), own("s2", "t2"), text("s2", turn="t2", block_index=0),
    thinking("s2", "hm", turn="t2", block_index=1), user("r", "t3"),
    own("s3", "t3"), {**thinking("s3", "", None, "t3"), "redacted_data": "?"}, call("s3", "c3", turn="t3"),
    result("c3", "", "t3"), user("end", "t4"),
]  # fmt: skip


def _same(value: Any, *_: Any) -> Any:
    return value


def _held_open(self: Any, *_: Any) -> None:
    self._written.add("user", _[0], _[1])


def _as_recorded(self: Any, step: Any, blocks: Any, origins: Any) -> None:
    self._written.add("assistant", blocks[::-1], origins[::-1])


def _plain(self: Any, step: Any, blocks: Any, origins: Any) -> None:
    self._written.add("assistant", blocks, origins)


def _apart(self: Any, role: str, content: Any, origins: Any) -> None:
    self.role, self.content, self.origins = role, content, origins
    self.messages.append({"role": role, "content": content})
    self._origins.append(origins)


MENDS: list[tuple[Any, str, Any, str, str]] = [
    (bedrock.CallIds, "sent", lambda _, name: name, CLAUDE, "B4"),
    (bedrock.Names, "sent", lambda _, name: name, CLAUDE, "B4"),
    (bedrock, "stub_specs", lambda _: [], CLAUDE, "B3"),
    (bedrock, "is_blank", lambda _: False, CLAUDE, "B5"),
    (bedrock_blocks, "NO_OUTPUT", " ", CLAUDE, "B5"),
    (bedrock, "ANCHOR", " ", CLAUDE, "B5"),
    (bedrock.BedrockWriting, "_add_user", _held_open, CLAUDE, "B10 B11"),
    (bedrock_blocks, "FILLER", " ", CLAUDE, "B5"),
    (bedrock, "with_text", _same, CLAUDE, "B11"),
    (bedrock_blocks.DocumentNames, "take", lambda _, name: name, CLAUDE, "B11"),
    (bedrock_blocks.DocumentNames, "take", lambda *_: "a", CLAUDE, "B11"),
    (bedrock_blocks, "written_part", lambda part, media, _: part if "text" in part else None, CLAUDE, "B5 S1"),
    (bedrock, "input_object", _same, CLAUDE, "S2"),
    (bedrock.BedrockWriting, "_add_assistant", _as_recorded, CLAUDE, "B8"),
    (bedrock.BedrockWriting, "_add_assistant", _plain, NOVA, "B9"),
    (bedrock.Merged, "add", _apart, CLAUDE, "B9"),
    (bedrock, "family_of", lambda _: bedrock_families.FAMILIES["anthropic"], WRITER, "B12"),
    (bedrock, "family_of", lambda _: bedrock_families.FAMILIES["anthropic"], LLAMA, "B10"),
    (bedrock_thinking, "is_base64", lambda _: True, CLAUDE, "S2"),
]


@pytest.mark.parametrize(("place", "attribute", "value", "model", "rules"), MENDS)
def test_without_a_mend_the_judge_finds_the_fault(
    place: Any, attribute: str, value: Any, model: str, rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = {"provider": "bedrock", "model": model}
    assert violations(target, replay(records(HISTORY), "c", target).request) == []
    monkeypatch.setattr(place, attribute, value)
    found = {one.rule for one in violations(target, replay(records(HISTORY), "c", target).request)}
    assert set(rules.split()) <= found


IMAGE_ERROR = [user("q"), own(), call("s1"), result(content=[PNG], is_error=True)]
TAIL = [user("q"), own(), text("s1", block_index=0), thinking("s1", block_index=1), user("r", "t2")]
MANUAL = {"type": "enabled", "budget_tokens": 2048}


def test_without_a_place_for_images_the_judge_finds_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = bedrock_blocks.Blocks.result
    target = {"provider": "bedrock", "model": CLAUDE}

    def whole(self: Any, content: Any, failed: bool, report: Any) -> Any:
        return kept(self, content, False, report)

    monkeypatch.setattr(bedrock_blocks.Blocks, "result", whole)
    found = violations(target, replay(records(IMAGE_ERROR), "c", target).request)
    assert [one.rule for one in found] == ["B12"]


def test_without_the_check_of_the_tail_the_judge_finds_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    target = {"provider": "bedrock", "model": CLAUDE}

    def place(self: Any, _: Any, blocks: Any, origins: Any, thinkings: Any, __: Any) -> bool:
        blocks.append(th())
        origins.append(thinkings[0][1])
        return True

    monkeypatch.setattr(bedrock.BedrockWriting, "_place", place)
    assert [one.rule for one in violations(target, replay(records(TAIL), "c", target).request)] == ["B6"]


def test_without_the_switch_of_manual_thinking_the_judge_finds_the_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = {"provider": "bedrock", "model": CLAUDE, "thinking": MANUAL}
    events = [user("q"), own(), call("s1"), result()]
    monkeypatch.setattr(bedrock_settings, "holds", lambda *_: False)
    assert [one.rule for one in violations(target, replay(records(events), "c", target).request)] == ["B6"]


def test_without_the_models_own_type_of_thinking_the_judge_finds_the_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = {"provider": "bedrock", "model": NEWEST, "thinking": MANUAL}
    assert violations(target, replay(records([user("q")]), "c", target).request) == []
    monkeypatch.setattr(bedrock, "asked_thinking", lambda config, *_: config)
    found = violations(target, replay(records([user("q")]), "c", target).request)
    assert [one.rule for one in found] == ["S3"]


def test_the_newest_claude_gets_no_temperature() -> None:
    context = {"type": "context", "digest": "d", "settings": {"temperature": 0.5}}
    assert answer(context, user("q"), model=CLAUDE).extra["inferenceConfig"] == {"temperature": 0.5}
    assert "inferenceConfig" not in answer(context, user("q"), model=NEWEST).extra


@pytest.mark.parametrize("below", ["bedrock", "ai-sdk", "pydantic-ai"])
def test_bound_thinking_of_another_context_stays_out_however_bedrock_is_reached(below: str) -> None:
    def sent(model: str, **more: Any) -> bool:
        first = {"type": "context", "digest": "d", "system": "Be brief."}
        second = {"type": "context", "digest": "e", "system": "Be long."}
        own = start("s1", model=model, provider="bedrock")
        events = [first, user("q"), own, thinking("s1"), text("s1"), second, user("r", "t2")]
        target = {"provider": below, "model": model, **more}
        return "sig" in str(replay(records(events), "c", target).messages)

    assert sent(CLAUDE)
    assert not sent(NEWEST)
    dropping = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert sent(NEWEST, thinking=dropping)

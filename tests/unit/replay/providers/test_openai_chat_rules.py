"""The rules of Chat Completions on good and bad histories (specs/providers.md 2)."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.errors import BadInput
from replay.providers.openai_dialects import DIALECTS
from replay.providers.rules import Judged
from replay.providers.rules.openai_chat import RULES
from replay.providers.violations import violations
from tests.unit.replay.providers.chat_messages import Message, a, t, u
from tests.unit.replay.providers.openai_chat_shapes import openai_chat_faults


def call(**more: Any) -> Message:
    function = {"name": "f", "arguments": "{}", **more}
    return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}


def signed(signature: str = "c2ln") -> Message:
    message = a("x", "1")
    message["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": signature}}
    return message


IMAGE = {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}}
BAD: list[tuple[str, str, list[Message]]] = [
    ("O1", "plain", [u(), a(None, "1"), u()]),
    ("O1", "plain", [u(), a(None, "1", "2"), t("1"), u()]),
    ("O1 O2", "plain", [u(), a(None, "1"), a(None, "2"), t("1"), t("2")]),
    ("O1", "plain", [u(), a(None, "1", "1"), t("1"), t("1")]),
    ("O2", "plain", [u(), t("9"), u()]),
    ("O2", "plain", [u(), a(None, "1"), t("1"), t("1")]),
    ("O1 O2", "plain", [u(), a(None, "1"), u(), t("1")]),
    ("O3", "plain", [u(), a(), u()]),
    ("O3", "plain", [u(), {"role": "assistant", "content": None}, u()]),
    ("O3", "plain", [{"role": "user"}]),
    ("O4", "plain", [u(), {**a("x"), "tool_calls": []}, u()]),
    ("O4", "plain", [u([])]),
    ("O5", "plain", [u(), call(arguments={}), t("1")]),
    ("O5", "plain", [u(), a(None, "1"), t("1", [IMAGE])]),
    ("O5", "plain", [u({"text": "x"})]),
    ("O6", "plain", [{"role": "bogus", "content": "x"}, u()]),
    ("O6", "plain", [{**u(), "id": "x"}]),
    ("O6", "plain", [u([{"type": "thinking", "text": "x"}])]),
    ("O6", "plain", [u([{"type": "text", "text": "x", "cache_control": {}}])]),
    ("O7", "plain", [u(), call(name="a.b"), t("1")]),
    ("O7", "plain", [{**u(), "name": "a b"}]),
    ("O8", "mistral", [u(), a(""), u()]),
    ("O20", "deepseek", [u(), a("x", "1"), t("1")]),
    ("O21", "deepseek-r1", [u(), a("x", reasoning_content="hm"), u()]),
    ("O22", "kimi", [u(), a("x", "1"), t("1")]),
    ("O23", "mimo", [u(), a("x", "1"), t("1")]),
    ("O26", "glm", [u(), a("x", reasoning_content="hm", reasoning="hm"), u()]),
    ("O27", "gemini", [u(), a("x", "1"), t("1")]),
    ("O27", "gemini", [u(), signed(), t("1"), a("x", "1"), t("1")]),
    ("O6", "plain", [u(), signed(), t("1")]),
    ("O28", "gemini", [u(), a("x", reasoning_content="hm"), u()]),
    ("O28", "plain", [u(), a("x", reasoning_content="hm"), u()]),
    ("O28", "mistral", [u(), a("x", reasoning="hm"), u()]),
    ("X5", "plain", [u(), a("x")]),
    ("X5", "plain", []),
    ("S1", "plain", [u("\ud800")]),
]
GOOD: list[tuple[str, list[Message]]] = [
    ("plain", [u(), a(None, "1", "2"), t("2"), t("1"), u()]),
    ("plain", [u(), u(), a("x"), a("y"), u([{"type": "text", "text": "x"}, IMAGE])]),
    ("plain", [{"role": "system", "content": "s"}, u(), a("", "1"), t("1"), a(None, "1"), t("1")]),
    ("plain", [u(), a(None, refusal="no"), u()]),
    ("plain", [u(), a(""), u()]),
    ("deepseek", [u(), a("x", "1", reasoning_content=""), t("1")]),
    ("kimi", [u(), a("x", "1", reasoning_content=" "), t("1")]),
    ("kimi", [u(), a("x", "1", reasoning_content=""), t("1")]),
    ("kimi", [u(), a("x"), u()]),
    ("glm", [u(), a("x", reasoning_content="hm"), u()]),
    ("gemini", [u(), signed(), t("1"), signed("skip_thought_signature_validator"), t("1")]),
    ("gemini", [u(), a("x", "1"), t("1"), u()]),
]


def broken(dialect: str, messages: list[Message], **more: Any) -> list[str]:
    model = "gemini-3-pro" if dialect == "gemini" else "m"
    target = {"provider": "openai-chat", "model": model, "dialect": dialect}
    return [one.rule for one in violations(target, {"messages": messages}, **more)]


@pytest.mark.parametrize(("rule", "dialect", "messages"), BAD)
def test_a_bad_history(rule: str, dialect: str, messages: list[Message]) -> None:
    assert set(broken(dialect, messages)) == set(rule.split())


@pytest.mark.parametrize(("dialect", "messages"), GOOD)
def test_a_good_history(dialect: str, messages: list[Message]) -> None:
    assert broken(dialect, messages) == []
    assert openai_chat_faults({"messages": messages}) == []


def test_every_rule_that_a_request_can_break_has_a_bad_history() -> None:
    assert {name for rule, _, _ in BAD for name in rule.split()} == {
        rule.id for rule in RULES.values() if rule.judged is Judged.REQUEST
    }


def test_the_start_of_a_conversation_may_be_open() -> None:
    assert broken("plain", [u(), a(None, "1")]) == ["O1", "X5"]
    assert broken("plain", [u(), a(None, "1")], sendable=False) == []
    assert broken("plain", [u(), a(None, "1"), u(), a(None, "2")], sendable=False) == ["O1"]


@pytest.mark.parametrize(
    ("model", "dialect"),
    [("deepseek-flash", "O20"), ("kimi-k2-thinking", "O22"), ("mimo-v2", "O23"), ("gpt-5.4", None)],
)
def test_the_dialect_is_told_by_the_models_name(model: str, dialect: str | None) -> None:
    messages = [u(), a("x", "1"), t("1")]
    found = violations({"provider": "openai-chat", "model": model}, {"messages": messages})
    assert [one.rule for one in found] == ([] if dialect is None else [dialect])


@pytest.mark.parametrize("request_", [{}, {"messages": 3}, {"messages": [3, None, {}]}, {"messages": [u(3)]}])
def test_anything_can_be_judged(request_: dict[str, Any]) -> None:
    assert violations("openai-chat", request_)


def test_tools() -> None:
    named = {"type": "function", "function": {"name": "a b", "parameters": {}}}
    for tools, rule in (([], "O4"), ([{"name": "x"}], "O6"), ([named], "O7")):
        assert [one.rule for one in violations("openai-chat", {"messages": [u()], "tools": tools})] == [rule]


def test_an_unknown_dialect_lists_what_there_is() -> None:
    with pytest.raises(BadInput, match="no dialect 'acme'; it has: plain, deepseek"):
        broken("acme", [u()])


def test_the_judge_knows_the_renderers_dialects() -> None:
    for name in DIALECTS:
        assert broken(name, [u()]) == []

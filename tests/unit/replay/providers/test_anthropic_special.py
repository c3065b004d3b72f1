"""Bound thinking, seams, compactions, citations, callers, sizes: what the Anthropic renderer does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay import replay
from replay.providers import anthropic, anthropic_given, anthropic_seams, anthropic_thinking
from replay.providers.judges import anthropic_special as anthropic_special_judge
from replay.providers.violations import violations
from tests.unit.replay.providers.anthropic_shapes import shape_faults
from tests.unit.replay.providers.rendering import (
    BOUND,
    MODEL,
    answer,
    body,
    call,
    codes,
    complete,
    kinds,
    records,
    result,
    start,
    text,
    thinking,
    user,
)

SEARCH = [{"type": "web_search_20250305", "name": "web_search"}]
HIT = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "e"}
CITED = {
    "type": "web_search_result_location",
    "cited_text": "c",
    "encrypted_index": "i",
    "title": "A",
    "url": "https://a.example",
}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def content(found: Any, message: int) -> list[dict[str, Any]]:
    return found.messages[message]["content"]  # type: ignore[no-any-return]


def context(system: str, **more: Any) -> dict[str, Any]:
    return {"type": "context", "digest": system, "system": system, **more}


# -- thinking that is bound to its context (A12, A14, A16)


def changed(*, back: bool = False, model: str = BOUND, settings: Any = None, **target: Any) -> Any:
    """A turn under one system prompt, a turn under another, perhaps back to the first."""
    return answer(
        context("one"),
        user("q"),
        start("s1", model=model),
        thinking("s1", signature="s-1"),
        text("s1"),
        complete(),
        context("two", settings=settings),
        user("r", "t2"),
        start("s2", "t2", model=model),
        thinking("s2", signature="s-2", turn="t2"),
        text("s2", turn="t2"),
        complete("t2"),
        context("one" if back else "two", settings=settings),
        user("last", "t3"),
        model=model,
        **target,
    )


def signatures(found: Any) -> list[str]:
    return [
        block["signature"] for one in found.messages for block in one["content"] if block["type"] == "thinking"
    ]


def test_bound_thinking_of_another_context_is_left_out_and_all_after_it() -> None:
    found = changed()
    assert signatures(found) == []
    assert codes(found) == ["thinking_context_skipped", "thinking_suffix_skipped"]
    assert signatures(changed(back=True)) == ["s-1"]


def test_thinking_that_is_not_bound_goes_back_under_any_context() -> None:
    assert signatures(changed(model=MODEL)) == ["s-1", "s-2"]


def test_what_the_provider_is_asked_to_drop_is_sent() -> None:
    found = changed(thinking=DROP)
    assert signatures(found) == ["s-1", "s-2"]
    assert body(found)["thinking"] == DROP
    found = changed(thinking={"type": "adaptive"}, settings={"thinking": DROP})
    assert signatures(found) == ["s-1", "s-2"]
    assert body(found)["thinking"] == DROP


@pytest.mark.parametrize(
    "asked",
    [
        {**DROP, "type": "enabled", "budget_tokens": 2000},
        {**DROP, "type": "disabled"},
        {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop"}},
        {"type": "adaptive", "block_binding": "drop_block"},
    ],
    ids=str,
)
def test_a_binding_stands_beside_adaptive_thinking_only(asked: dict[str, Any]) -> None:
    found = answer(user("q"), thinking=asked)
    assert "block_binding" not in body(found)["thinking"]
    assert codes(found) == ["block_binding_skipped"]


def test_other_settings_and_the_same_context_again_change_nothing() -> None:
    events = [user("q"), start("s1", model=BOUND), thinking("s1"), text("s1"), context("s", settings={"a": 1})]
    found = answer(context("s"), *events, user("r", "t2"), model=BOUND)
    assert signatures(found) == ["sig"]


def test_a_model_reads_the_thinking_of_those_that_the_table_names() -> None:
    def read(model: str, made_by: str) -> list[str]:
        events = [user("q"), start("s1", model=made_by), thinking("s1"), call("s1"), result()]
        return signatures(answer(*events, model=model))

    assert read("claude-fable-5-1", "claude-opus-5") == ["sig"]
    assert read("claude-fable-5-1", "claude-opus-5-5") == ["sig"]
    assert read("claude-opus-5-5", "claude-fable-5-1") == []
    assert read("claude-opus-5", "claude-opus-5-5") == []


# -- refusals and seams (A37)


def finish(reason: str, **more: Any) -> dict[str, Any]:
    return {"type": "step_finish", "turn_id": "t1", "step_id": "s1", "finish_reason": reason, **more}


def seam(**more: Any) -> dict[str, Any]:
    return {"type": "note", "turn_id": "t1", "step_id": "s1", "kind": "fallback", "text": "on", **more}


def test_a_refused_answer_is_left_out_and_its_calls_stay() -> None:
    found = answer(user("q"), start("s1"), thinking("s1"), text("s1", "no"), finish("refusal"), user("r", "t2"))
    assert kinds(found) == ["u[text,text]"]
    assert codes(found) == ["refused_block_skipped", "refused_block_skipped"]
    found = answer(user("q"), start("s1"), text("s1", "no"), call("s1"), finish("refusal"), result())
    assert kinds(found) == ["u[text]", "a[tool_use]", "u[tool_result]"]
    found = answer(
        user("q"), start("s1", provider="other"), text("s1", "no"), finish("refusal"), user("r", "t2")
    )
    assert kinds(found)[1] == "a[text]"


def test_what_stands_before_a_seam_is_left_out_with_all_thinking_of_the_step() -> None:
    found = answer(
        user("q"),
        start("s1"),
        {**thinking("s1"), "block_index": 0},
        {**text("s1", "I can"), "block_index": 1},
        seam(block_index=2),
        {**thinking("s1", signature="other's"), "block_index": 3},
        {**text("s1", "Sure."), "block_index": 4},
        user("r", "t2"),
    )
    assert content(found, 1) == [{"type": "text", "text": "Sure."}]
    assert [one.version for one in found.diagnostics] == [3, 4, 6]


def test_thinking_after_a_refusal_waits_for_the_next_turn() -> None:
    def later(model: str) -> list[str]:
        return signatures(
            answer(
                user("q"),
                start("s1", model=model),
                thinking("s1", signature="s-1"),
                call("s1"),
                finish("refusal"),
                result(),
                start("s2", model=model),
                thinking("s2", signature="s-2"),
                text("s2"),
                user("r", "t2"),
                start("s3", "t2", model=model),
                thinking("s3", signature="s-3", turn="t2"),
                text("s3", turn="t2"),
                user("last", "t3"),
                model=model,
            )
        )

    assert later(MODEL) == ["s-3"]
    assert later(BOUND) == []


# -- compactions (A38)

BLOCK = {"type": "compaction", "content": "So far.", "encrypted_content": "e", "signature": "s"}


def compacting(block: Any = BLOCK, summary: str = "So far.") -> list[dict[str, Any]]:
    event = {
        "type": "compaction",
        "turn_id": "t1",
        "step_id": "s2",
        "summary": summary,
        "through_version": 4,
        "provider_metadata": {"anthropic": block},
    }
    return [
        user("q"),
        start("s1", model=BOUND),
        thinking("s1", signature="s-1"),
        text("s1", "early"),
        start("s2", model=BOUND),
        event,
        thinking("s2", signature="s-2"),
        text("s2", "late"),
        user("r", "t2"),
    ]


def compacted(block: Any = BLOCK, summary: str = "So far.", **target: Any) -> Any:
    return answer(*compacting(block, summary), **{"model": BOUND, **target})


def test_a_compaction_goes_back_to_its_maker_as_its_own_block() -> None:
    found = compacted()
    assert kinds(found) == ["a[compaction,thinking,text]", "u[text]"]
    assert content(found, 0)[0] == BLOCK
    assert shape_faults(body(found)) == []
    assert found.provenance[0][0] == [6]


@pytest.mark.parametrize(
    "other",
    [
        {"model": "claude-opus-4-5"},
        {"rung": "no-thinking"},
        {"block": {**BLOCK, "type": "summary"}},
        {"block": {**BLOCK, "content": 7}},
        {"block": {**BLOCK, "signature": "\ud800"}},
    ],
    ids=str,
)
def test_for_others_a_compaction_is_its_summary(other: dict[str, Any]) -> None:
    found = compacted(**other)
    assert kinds(found)[0] == "u[text]"
    assert content(found, 0)[0]["text"] == "So far."


def test_a_compaction_that_only_its_maker_reads_stands_in_its_place_and_others_keep_the_history() -> None:
    sealed = {"type": "compaction", "content": None, "encrypted_content": "e"}
    found = compacted(sealed, "")
    assert kinds(found) == ["u[text]", "a[thinking,text,compaction,thinking,text]", "u[text]"]
    assert content(found, 1)[2] == sealed
    assert kinds(compacted(sealed, "", model=MODEL))[1] == "a[text,text]"
    assert "compaction" not in json.dumps(compacted({**sealed, "signature": "s"}, "").messages)


# -- citations, callers, toolsets (A42, A43)


def searched(*cited: Any, result_url: str = "https://a.example") -> Any:
    return answer(
        context("s", tools=SEARCH),
        user("q"),
        start("s1"),
        call("s1", "srvtoolu_1", {"query": "q"}, tool_name="web_search", provider_executed=True),
        result("srvtoolu_1", [{**HIT, "url": result_url}], step_id="s1", provider_executed=True),
        text("s1", "found", provider_metadata={"citations": list(cited)}),
        user("r", "t2"),
    )


def test_web_citations_go_back_with_their_results() -> None:
    found = searched({**CITED, "extra": 1})
    assert content(found, 1)[2]["citations"] == [CITED]
    assert found.diagnostics == []
    assert shape_faults(body(found)) == []


@pytest.mark.parametrize(
    ("cited", "url"),
    [
        (CITED, "https://b.example"),
        ({**CITED, "type": "char_location"}, "https://a.example"),
        ({**CITED, "encrypted_index": None}, "https://a.example"),
        ("a.example", "https://a.example"),
    ],
)
def test_other_citations_are_left_out(cited: Any, url: str) -> None:
    found = searched(cited, result_url=url)
    assert content(found, 1)[2] == {"type": "text", "text": "found"}
    assert [(one.code, one.detail) for one in found.diagnostics] == [("citations_skipped", {"count": 1})]


def test_a_toolset_and_a_direct_caller_are_kept() -> None:
    own = {"caller": {"type": "direct"}, "toolset_name": "files"}
    found = answer(user("q"), start("s1"), call("s1", provider_metadata=own), result())
    assert content(found, 1)[0] == {"type": "tool_use", "id": "c1", "name": "read", "input": {}, **own}
    assert content(found, 2)[0]["toolset_name"] == "files"
    assert shape_faults(body(found)) == []
    named = answer(user("q"), start("s1"), call("s1", provider_metadata={"anthropic": own}), result())
    assert named.messages == found.messages
    foreign = answer(user("q"), start("s1", provider="other"), call("s1", provider_metadata=own), result())
    assert "files" not in json.dumps(body(foreign))


def test_a_caller_that_is_not_in_the_request_is_left_out() -> None:
    made = {"caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}
    found = answer(user("q"), start("s1"), call("s1", provider_metadata=made), result())
    assert "caller" not in content(found, 1)[0]
    assert codes(found) == ["caller_skipped"]


# -- size (A44)


def test_more_messages_than_the_provider_takes_are_not_sendable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anthropic, "MAX_MESSAGES", 2)
    found = answer(user("q"), text("s1"), user("r", "t2"))
    assert not found.sendable
    assert codes(found) == ["too_many_messages"]


# -- mends switched off


def broken(*events: Any, model: str = MODEL) -> set[str]:
    found = replay(records(events), "c", {"provider": "anthropic", "model": model})
    return {one.rule for one in violations("anthropic", body(found), sendable=found.sendable)}


def test_without_a_mend_the_judge_finds_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}, "toolset_name": "files"}
    events = [user("q"), start("s1"), call("s1", provider_metadata=made), result()]
    cited = [user("q"), start("s1"), text("s1", provider_metadata={"citations": [CITED]}), user("r", "t2")]
    with monkeypatch.context() as patch:
        patch.setattr(
            anthropic, "caller", lambda call, sent: anthropic_given.given(call.provider_metadata)["caller"]
        )
        assert broken(*events) == {"A43"}
    with monkeypatch.context() as patch:
        given = iter([None])
        patch.setattr(anthropic, "toolset", lambda call: next(given, "files"))
        assert broken(*events) == {"A43"}
    with monkeypatch.context() as patch:
        patch.setattr(anthropic, "citations", lambda block, found: ([CITED], 0))
        assert broken(*cited) == {"A42"}
    with monkeypatch.context() as patch:
        patch.setattr(anthropic, "bound", lambda thinking, settings, report: {**DROP, "type": "disabled"})
        assert broken(user("q")) == {"A16"}
    with monkeypatch.context() as patch:
        patch.setattr(anthropic, "compaction", lambda record: {**BLOCK, "index": 0})
        assert broken(*compacting(), model=BOUND) == {"A38"}
    with monkeypatch.context() as patch:
        patch.setattr(anthropic_special_judge, "MAX_MESSAGES", 2)  # nobody writes 100,000 in a test
        assert broken(user("q"), text("s1"), user("r", "t2")) == {"A44"}


def test_without_a_mend_the_requests_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(anthropic_thinking.ThinkingGate, "_is_elsewhere", lambda self, step: False)
        assert signatures(changed()) == ["s-1", "s-2"]
    with monkeypatch.context() as patch:
        patch.setattr(anthropic, "declined", lambda step, providers: frozenset())
        refused = [user("q"), start("s1"), text("s1", "no"), finish("refusal"), user("r", "t2")]
        assert kinds(answer(*refused)) == ["u[text]", "a[text]", "u[text]"]
    with monkeypatch.context() as patch:
        patch.setattr(anthropic_seams, "_before_seam", lambda block, step: False)
        found = answer(
            user("q"), start("s1"), text("s1", "I can"), seam(), text("s1", "Sure."), user("r", "t2")
        )
        assert kinds(found)[1] == "a[text,text]"

"""The table of codes: documented, complete, and each code of the plan produced by something."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.recorded import RecordedEvent
from replay import Code, Options, codes, plan
from replay.diagnostics import CODES, SEVERITY, document, meaning, register
from tests.conformance import REPOSITORY
from tests.unit.replay.talk import call, complete, event, result, talk, text, thinking, user

USER = user("q")
NEXT = user("next", "t2")

# For every code of the plan the smallest ledger that produces it.
LEDGERS: dict[str, list[dict[str, Any]]] = {
    "after_terminal": [USER, complete(), text("a", "m1")],
    "block_order_assumed": [USER, thinking("a", "m1", signature="s"), thinking("b", "m1", signature="s")],
    "compaction_clamped": [USER, event("compaction", None, summary="s", through_version=9)],
    "denied_tool_call": [USER, call("c", "m1"), event("tool_approval", tool_call_id="c", decision="denied")],
    "duplicate_call_id_renamed": [USER, call("c", "m1"), result("c"), call("c", "m2"), result("c")],
    "duplicate_tool_result": [USER, call("c", "m1"), result("c"), result("c")],
    "edited_content": [USER, text("a", "m1", provider_metadata={"turnledger": {"digest": "0"}})],
    "empty_text_skipped": [USER, text("", "m1")],
    "empty_thinking_skipped": [USER, thinking("", "m1")],
    "extra_terminal": [USER, complete(), complete()],
    "invalid_replay_state": [USER, text("a", "m1"), event("step_finish", step="m1", replay_state=7)],
    "late_tool_result": [USER, call("c", "m1"), text("a", "m2"), result("c")],
    "model_hidden_skipped": [user("q", visibility="hidden")],
    "pending_tool_call": [USER, call("c", "m1")],
    "progress_as_result": [USER, call("c", "m1"), result("c", final=False), text("a", "m2")],
    "progress_skipped": [USER, call("c", "m1"), result("c", final=False), result("c")],
    "retracted_skipped": [USER, event("retraction", None, event_ids=["e1"])],
    "retry_ignored": [USER, event("step_start", step="m1", retry_of="m1")],
    "signed_thinking_in_tool_turn_skipped": [USER, call("c", None), thinking("a", "m1", signature="s")],
    "superseded_step_skipped": [USER, text("a", "m1"), event("step_start", step="m2", retry_of="m1")],
    "tool_id_mismatch": [USER, call("c", "m1"), result("c", tool_name="other")],
    "unknown_event_skipped": [USER, event("hologram", None)],
    "unmatched_tool_call": [USER, call("c", "m1"), NEXT],
    "unmatched_tool_result": [USER, result("c")],
}


@pytest.mark.parametrize("code", sorted(LEDGERS))
def test_every_code_of_the_plan_is_produced(code: str) -> None:
    found = {one.code: one for one in plan(talk(*LEDGERS[code])).diagnostics}
    assert code in found
    one = found[code]
    assert one.severity == SEVERITY[code]
    assert one.version is not None
    assert one.event_id == f"e{one.version}"
    assert set(one.as_json()) == {"code", "severity", "version", "event_id", "turn_id", "step_id", "detail"}


def test_an_unreadable_event_is_reported() -> None:
    broken = RecordedEvent("c", 1, "e1", "x", None, None, bytes(16) + b"{", b"", 0, "t", "a", 1, 0, 1)
    [one] = plan([broken]).diagnostics
    assert (one.code, one.version) == ("unreadable_event_skipped", 1)
    assert one.detail["problem"]


def test_the_table_holds_each_code_once_and_nothing_that_cannot_happen() -> None:
    names = [entry.code for entry in CODES]
    assert names == sorted(set(names))
    assert set(names) == {*LEDGERS, "prefix_changed", "unreadable_event_skipped"}
    for entry in codes():
        assert entry.meaning.endswith(".")
        assert entry.advice.endswith(".")
        assert meaning(entry.code) == entry.meaning


def test_a_result_of_a_step_names_that_step() -> None:
    [_, late] = plan(talk(*LEDGERS["late_tool_result"])).diagnostics
    assert (late.code, late.turn_id, late.step_id) == ("late_tool_result", "t1", "m1")
    assert late.detail == {"tool_call_id": "c"}


def test_diagnostics_stand_in_ledger_order() -> None:
    options = Options(pending_calls="close")
    found = plan(talk(text("", "m1"), call("c", "m2"), text("", "m3"), result("x")), options).diagnostics
    assert [one.version for one in found] == [1, 2, 3, 4]


def test_a_code_has_one_meaning() -> None:
    taken = CODES[0]
    register(taken)
    with pytest.raises(ValueError, match="two meanings"):
        register(Code(taken.code, taken.severity, "Something else.", "Nothing."))


def test_the_documentation_is_current() -> None:
    path = REPOSITORY / "docs" / "diagnostics.md"
    remedy = "write replay.diagnostics.document() to docs/diagnostics.md"
    assert path.read_text("utf-8") == document(), remedy

"""The answer of a replay: its shape, its provenance, its fingerprints, and what became of every event."""

from __future__ import annotations

import json

import pytest

from ledger.errors import BadInput, UnknownTarget
from replay import Options, Target, explain_event, explain_message, explain_versions, replay, targets
from replay.fingerprint import canonical_bytes, fingerprints
from tests.unit.replay.talk import call, complete, event, result, talk, text, thinking, user

TALK = talk(
    event("system_message", None, content="Be brief."),
    event("context", None, digest="d", system="You help.", tools=[]),
    user("q"),
    event("step_start", step="m1", provider="anthropic", model="big"),
    thinking("hm", "m1", signature="sig"),
    text("", "m1"),
    call("c1", "m1"),
    call("c1", "m1"),
    result("c1", {"ok": True}),
    complete(),
    user("sub", "k1", agent_id="sub"),
    user("next", "t2"),
)


def test_the_shape_of_the_answer() -> None:
    answer = replay(TALK, "conv").as_json()
    assert list(answer) == [
        "conversation_id",
        "version",
        "target",
        "system",
        "context",
        "messages",
        "sendable",
        "fingerprint",
        "diagnostics",
        "provenance",
    ]
    assert answer["conversation_id"] == "conv"
    assert answer["version"] == 12
    assert answer["target"] == {"provider": "neutral", "model": None, "rung": "native"}
    assert answer["system"] == [{"type": "text", "text": "Be brief."}]
    assert answer["context"] == {"system": "You help.", "tools": [], "digest": "d"}
    assert answer["sendable"] is True
    assert answer["provenance"] == [
        {"message": 0, "part": 0, "versions": [3]},
        {"message": 1, "part": 0, "versions": [5]},
        {"message": 1, "part": 1, "versions": [7]},
        {"message": 1, "part": 2, "versions": [8]},
        {"message": 2, "part": 0, "versions": [9]},
        {"message": 2, "part": 1, "versions": [8]},
        {"message": 3, "part": 0, "versions": [12]},
    ]
    json.dumps(answer)


def test_an_empty_conversation_is_an_answer_too() -> None:
    found = replay([], "conv")
    assert (found.messages, found.sendable, found.version) == ([], False, 0)


def test_an_earlier_state_is_the_ledger_cut_there() -> None:
    assert replay(TALK[:3], "conv").messages == replay(TALK, "conv").messages[:1]


def test_fingerprints_are_running_and_can_be_left_out() -> None:
    found = replay(TALK, "conv")
    beside = {"system": found.system, "context": found.context}
    assert found.fingerprints == fingerprints(beside, found.messages)
    assert found.fingerprint == found.fingerprints[-1]
    assert found.fingerprints[:3] == fingerprints(beside, found.messages[:2])
    assert replay(TALK, "conv", options=Options(fingerprints=False)).fingerprint is None


def test_canonical_bytes_do_not_depend_on_key_order_or_encoding() -> None:
    assert (
        canonical_bytes({"b": "\ud83d\u00e9", "a": [1, 1.0, None]})
        == b'{"a":[1,1.0,null],"b":"\\ud83d\\u00e9"}'
    )


def test_a_target_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UnknownTarget, match=r"no target nowhere; there is: .*neutral"):
        replay(TALK, "conv", "nowhere")
    assert "neutral" in targets()


def test_targets_are_given_by_name_object_or_json() -> None:
    spelled = [replay(TALK, "c", one).as_json() for one in ("neutral", Target(), {"provider": "neutral"})]
    assert spelled[0] == spelled[1] == spelled[2]
    with pytest.raises(BadInput, match="modle"):
        replay(TALK, "c", {"provider": "neutral", "modle": "x"})


def test_a_message_is_explained_by_its_events() -> None:
    found = replay(TALK, "conv")
    explained = explain_message(found, TALK, 2)
    assert [fate.record.version for fate in explained.fates] == [8, 9]
    assert explained.notes == [
        "call c1 (v8) is named c1~2 in the request",
        "call c1 (v8) is answered by a stand-in: no result was recorded for it",
    ]
    only = explain_message(found, TALK, 1, 0)
    assert [(fate.record.version, fate.outcome, fate.places) for fate in only.fates] == [(5, "sent", [(1, 0)])]
    assert "v5 thinking_complete e5 (turn t1, step m1): in message 1 part 0" in only.text()
    with pytest.raises(BadInput, match="no message 9: the request has 4"):
        explain_message(found, TALK, 9)
    with pytest.raises(BadInput, match="no part 5: message 1 has 3"):
        explain_message(found, TALK, 1, 5)


def test_every_event_has_a_fate() -> None:
    found = replay(TALK, "conv")
    explained = explain_versions(found, TALK, 1, 12)
    assert [fate.outcome for fate in explained.fates] == [
        "beside",
        "beside",
        "sent",
        "control",
        "sent",
        "left_out",
        "sent",
        "sent",
        "sent",
        "control",
        "other_lane",
        "sent",
    ]
    start = explained.fates[3]
    assert start.steps_message == 1
    assert "says something about the step in message 1" in start.text()
    empty = explained.fates[5]
    assert [one.code for one in empty.diagnostics] == ["empty_text_skipped"]
    assert "empty_text_skipped: Empty text is left out" in empty.text()
    json.dumps(explained.as_json())
    with pytest.raises(BadInput, match="no version 40: the conversation ends at version 12"):
        explain_versions(found, TALK, 40)


def test_an_event_is_found_by_its_id() -> None:
    found = replay(TALK, "conv")
    assert explain_event(found, TALK, "e11").fates[0].outcome == "other_lane"
    with pytest.raises(BadInput, match="no event e99"):
        explain_event(found, TALK, "e99")


def test_what_a_summary_stands_for_is_said() -> None:
    records = talk(
        user("a"),
        text("A.", "m1"),
        event("compaction", None, summary="s", through_version=2),
        user("b", "t2", visibility="hidden"),
        text("half", "m2", "t2"),
        event("step_start", "t2", "m3", retry_of="m2"),
    )
    explained = explain_versions(replay(records, "conv"), records, 1, 6)
    assert [fate.outcome for fate in explained.fates] == [
        "compacted",
        "compacted",
        "sent",
        "left_out",
        "left_out",
        "control",
    ]
    assert [one.code for one in explained.fates[4].diagnostics] == ["superseded_step_skipped"]

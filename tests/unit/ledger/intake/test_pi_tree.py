"""Branches as conversations, and what stands however a file grows (specs/pi.md 3.3 and 5, cases 39-54)."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from ledger.errors import NotASession, SourceChanged
from ledger.events import Abort, Fork, Note, UserMessage
from ledger.intake.lines import split_lines
from ledger.intake.pi import Session
from tests.pi_files import SESSION, START, SessionFile, call, take


def branched() -> SessionFile:
    """u1 a1 (u2 a2 | u2-alt): the last line wins."""
    file = SessionFile()
    file.user("u1", "u1")
    file.assistant("a1", entry_id="a1")
    file.user("u2", "u2")
    file.assistant("a2", entry_id="a2")
    file.user("u2-alt", "alt", parent="a1")
    return file


def test_a_branch_is_a_conversation_that_forks_where_it_left() -> None:
    taken = take(branched().data())
    assert list(taken.own) == [SESSION, f"{SESSION}~alt"]
    assert taken.session.current == f"{SESSION}~alt"
    assert taken.texts() == ["u1", "a1", "u2-alt"]
    assert [text for _, text in taken.context(SESSION)] == ["u1", "a1", "u2", "a2"]
    fork = taken.events(f"{SESSION}~alt")[0]
    assert isinstance(fork, Fork)
    last = next(record for record in taken.own[SESSION] if record.event_id == taken.ids()[SESSION][7])
    assert last.type == "complete"
    assert (fork.source_conversation_id, fork.source_version) == (SESSION, last.version)
    assert taken.own[f"{SESSION}~alt"][0].version == fork.source_version + 1


def test_branches_of_branches_and_several_roots() -> None:
    file = branched()
    file.assistant("b1", entry_id="b1")
    file.user("b2", "b2")
    file.user("b2-alt", "b2x", parent="b1")
    file.user("other root", "root2", parent=None)
    taken = take(file.data())
    assert list(taken.own) == [SESSION, f"{SESSION}~root2", f"{SESSION}~alt", f"{SESSION}~b2x"]
    assert [text for _, text in taken.context(f"{SESSION}~b2x")] == ["u1", "a1", "u2-alt", "b1", "b2-alt"]
    assert taken.texts() == ["other root"]
    assert taken.sources[f"{SESSION}~root2"] == (SESSION, 1)


def test_a_longer_version_adds_only_tails_whichever_branch_the_leaf_moves_to() -> None:
    file = branched()
    file.assistant("b1", entry_id="b1")
    file.user("back on the first branch", "u3", parent="a2")
    file.assistant(call("c1"), stop="toolUse", entry_id="a3")
    file.result("c1", entry_id="r3")
    file.user("a third way", "v1", parent="a3")
    file.assistant("failing", stop="error", errorMessage="503", entry_id="e1", parent="r3")
    file.assistant("retried", entry_id="a4", parent="e1")
    file.user("from the failure", "w1", parent="e1")
    final = take(file.data())
    before: dict[str, list[str]] = {}
    for count in range(1, len(file.lines) + 1):
        shorter = SessionFile()
        shorter.lines = file.lines[:count]
        now = take(shorter.data()).ids()
        for name, ids in before.items():
            assert now[name][: len(ids)] == ids
        before = now
    assert before == final.ids()
    everywhere = [record for own in final.own.values() for record in own if record.type != "fork"]
    for own in final.own.values():
        assert len({record.event_id for record in own}) == len(own)
    said = [record.event for record in everywhere if isinstance(record.event, UserMessage)]
    assert [event.content for event in said].count("a third way") == 1


def test_a_branch_summary_ends_the_turn_that_was_left_and_is_read_by_the_model() -> None:
    file = SessionFile()
    file.user("u1", "u1")
    file.assistant("a1", entry_id="a1")
    file.user("u2", "u2")
    file.assistant("a2")
    file.entry("branch_summary", "br", parent="a1", fromId="a1", summary="BR")
    file.user("u3", "u3")
    taken = take(file.data())
    assert taken.texts() == ["u1", "a1", "BR", "u3"]
    file = SessionFile()
    file.user("u1", "u1")
    file.assistant(call("c1"), stop="toolUse", entry_id="a1")
    file.result("c1", entry_id="r1")
    file.assistant("a2")
    file.entry("branch_summary", "br", parent="r1", fromId="r1", summary="BR")
    taken = take(file.data())
    ends = [event for event in taken.events(f"{SESSION}~br") if isinstance(event, Abort)]
    assert [(end.turn_id, (end.source or {})["inferred"]) for end in ends] == [("u1", True)]


def test_the_same_call_id_on_two_branches_is_paired_on_each_path() -> None:
    file = SessionFile()
    file.user("q", "u1")
    file.assistant(call("call_a"), stop="toolUse", entry_id="a1")
    file.result("call_a", "one")
    file.user("other", "u2", parent="u1", timestamp=START)
    file.assistant(call("call_a"), stop="toolUse", entry_id="a2")
    file.result("call_a", "two")
    taken = take(file.data())
    assert taken.context(SESSION)[-1] == ("tool", "one")
    assert taken.context()[-1] == ("tool", "two")


def test_a_version_1_file_is_a_list_and_counts_what_it_keeps_from_the_header() -> None:
    file = SessionFile(None, provider="anthropic", modelId="m", thinkingLevel="off")
    file.user("u1")
    file.user("u2")
    file.entry("compaction", summary="SUM", firstKeptEntryIndex=2)
    file.user("u3")
    taken = take(file.data())
    assert taken.session.version == 1
    assert taken.texts() == ["SUM", "u2", "u3"]


def test_a_hook_message_of_version_2_is_a_custom_message() -> None:
    file = SessionFile(2)
    file.user("u1")
    file.message(role="hookMessage", customType="x", content="hook", display=True)
    events = take(file.data()).events()
    assert isinstance(events[-1], UserMessage)
    assert (events[-1].content, events[-1].origin) == ("hook", "runtime")


def test_a_version_1_file_that_pi_lifted_gives_the_same_events() -> None:
    old = SessionFile(None, provider="anthropic", modelId="m", thinkingLevel="off")
    new = SessionFile(3, provider="anthropic", modelId="m", thinkingLevel="off")
    for file, entry_id in ((old, None), (new, "new")):
        file.user("u1", entry_id and "11111111")
        file.assistant("a1", entry_id=entry_id and "22222222")
        file.message(
            entry_id and "33333333",
            role="custom" if entry_id else "hookMessage",
            customType="x",
            content="hook",
        )
        kept = {"firstKeptEntryId": "22222222"} if entry_id else {"firstKeptEntryIndex": 2}
        file.entry("compaction", entry_id and "44444444", summary="SUM", **kept)
    new.user("u2", "55555555")
    assert take(old.data()).ids()[SESSION] == take(new.data()).ids()[SESSION][:-2]
    assert take(new.data()).texts() == ["SUM", "a1", "hook", "u2"]


def test_the_last_of_a_double_entry_id_counts_and_the_first_is_kept() -> None:
    file = SessionFile()
    file.user("u1", "u1")
    file.assistant("first", entry_id="a1", parent="u1")
    file.assistant("last", entry_id="a1", parent="u1")
    file.user("u2", "u2", parent="a1")
    taken = take(file.data())
    assert taken.codes == ["duplicate_id"]
    assert taken.texts() == ["u1", "last", "u2"]
    assert [text for _, text in taken.context(SESSION)] == ["u1", "first"]


def test_a_doubled_line_is_taken_once() -> None:
    file = branched()
    file.raw(file.lines[2])
    taken = take(file.data())
    assert taken.codes == ["doubled_line"]
    assert taken.ids() == take(branched().data()).ids()


def test_a_copy_of_a_session_is_a_conversation_of_its_own() -> None:
    copy = branched()
    copy.lines[0] = copy.lines[0].replace(SESSION.encode(), b"0190bbbb-0000-7000-8000-000000000002")
    first, second = take(branched().data()), take(copy.data())
    assert not set(first.own) & set(second.own)
    assert first.ids()[SESSION] != second.ids()["0190bbbb-0000-7000-8000-000000000002"]


@pytest.mark.parametrize("size", [1, 2, 5_000])
def test_a_parent_cycle_is_reported_and_ends(size: int) -> None:
    file = SessionFile()
    file.user("u1", "u1")
    for at in range(size):
        file.user(f"c{at}", f"c{at}", parent=f"c{(at + 1) % size}")
    file.user("u2", "u2", parent="u1")
    started = time.monotonic()
    taken = take(file.data())
    assert time.monotonic() - started < 20
    assert taken.codes == ["parent_cycle"]
    assert taken.texts() == ["u1", "u2"]
    said = [record.event for own in taken.own.values() for record in own if record.type == "user_message"]
    assert len(said) == size + 2


# Damage of specs/pi.md 3.5


def test_a_malformed_line_costs_only_itself_and_its_children_keep_their_ancestors() -> None:
    file = branched()
    file.lines[2] = file.lines[2][:-10]  # a1, whose ids can still be read
    file.raw(b"garbage")
    file.user("more", "more")
    taken = take(file.data())
    assert taken.codes.count("malformed_line") == 2
    assert [problem.line for problem in taken.session.problems if problem.lost] == [3, 7]
    assert taken.codes.count("missing_parent") == 2
    assert taken.texts() == ["u1", "u2-alt", "more"]
    assert [text for _, text in taken.context(SESSION)] == ["u1", "u2", "a2"]
    damaged = [
        event for event in taken.events() if isinstance(event, Note) and event.fields["kind"] == "damaged"
    ]
    assert damaged[0].fields["entry"] == file.lines[2].decode()


def test_a_parent_that_cannot_be_read_at_all_is_the_line_before() -> None:
    file = SessionFile()
    file.user("u1", "u1")
    file.raw(b"\xff\xfe not a line of ours")
    file.assistant("a1", entry_id="a1", parent="lost")
    taken = take(file.data())
    assert taken.codes == ["malformed_line", "missing_parent"]
    assert taken.texts() == ["u1", "a1"]
    assert (taken.events()[-1].source or {})["parent_inferred"] is True


def test_a_garbage_line_does_not_tear_the_conversation() -> None:
    file = SessionFile()
    file.user("u1", "u1")
    file.raw(b"garbage")
    file.assistant("a1")
    taken = take(file.data())
    assert list(taken.own) == [SESSION]
    assert taken.texts() == ["u1", "a1"]


def test_a_torn_line_and_the_next_append_are_taken_apart() -> None:
    file = branched()
    torn, whole = file.lines[4], file.lines[5]
    file.lines[4:] = [torn[: len(torn) // 2] + whole]
    file.user("more", "more")
    taken = take(file.data())
    assert "spliced_line" in taken.codes
    assert taken.texts() == ["u1", "a1", "u2-alt", "more"]


def test_two_whole_lines_without_a_newline_between_are_both_read() -> None:
    file = branched()
    file.lines[2:4] = [file.lines[2] + file.lines[3]]
    taken = take(file.data())
    assert taken.codes == ["spliced_line"]
    assert not any(problem.lost for problem in taken.session.problems)
    assert taken.ids() == take(branched().data()).ids()


def test_blocks_inside_a_torn_line_are_not_taken_for_records() -> None:
    file = SessionFile()
    file.user([{"type": "text", "text": "u1"}, {"type": "message", "timestamp": 1}], "u1")
    file.lines[1] = file.lines[1][:-2]
    file.assistant("a1", entry_id="a1")
    taken = take(file.data())
    assert [event.type for event in taken.events()].count("user_message") == 0


def test_a_torn_tail_is_reported_and_taken_in_whole_later() -> None:
    file = branched()
    whole = take(file.data())
    for cut in (1, 20, 60):
        torn = take(file.data(ended=False)[:-cut])
        assert torn.codes == ["torn_tail"]
        assert torn.session.problems[0].line == 6
        assert torn.ids() == {SESSION: whole.ids()[SESSION]}
    assert take(file.data(ended=False)).ids() == whole.ids()


def test_crlf_a_byte_order_mark_blank_lines_and_garbage_before_the_header_are_taken() -> None:
    plain = branched()
    whole = take(plain.data()).ids()
    assert take(b"\r\n".join(plain.lines)).ids() == whole
    assert take(b"\xef\xbb\xbf" + plain.data()).ids() == whole
    assert take(plain.data().replace(b"\n", b"\n\n  \n")).ids() == whole
    noisy = take(b"noise\n" + plain.data())
    assert noisy.codes == ["malformed_line"]
    assert noisy.context(SESSION) == take(plain.data()).context(SESSION)


def test_a_second_header_is_a_note() -> None:
    file = branched()
    file.lines.insert(3, b'{"type":"session","version":3,"id":"other","timestamp":"2026-01-01T00:00:00Z"}')
    taken = take(file.data())
    assert taken.codes == ["second_header"]
    assert taken.session.conversation_id == SESSION
    assert taken.texts() == ["u1", "a1", "u2-alt"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"hello\nworld\n", "no line of 2 is a JSON object"),
        (b'{"type":"user","uuid":"x"}\n', "no session header among 1 records"),
        (b'{"type":"session","version":3}\n', "its session header has no id"),
    ],
)
def test_what_is_no_session_file_says_which_and_why(data: bytes, why: str) -> None:
    with pytest.raises(NotASession) as caught:
        take(data, file="x.jsonl")
    assert str(caught.value) == f"x.jsonl is not a pi session file: {why}"


def test_lines_that_are_json_but_no_objects_are_notes() -> None:
    file = branched()
    file.lines[3:3] = [b"[1,2]", b"null", b"7", b'"text"']
    taken = take(file.data())
    assert taken.codes == ["not_an_object"] * 4
    assert taken.texts() == ["u1", "a1", "u2-alt"]


def test_a_newer_version_is_read_as_it_is() -> None:
    file = branched()
    file.lines[0] = file.lines[0].replace(b'"version":3', b'"version":9')
    assert take(file.data()).session.version == 9
    assert take(file.data()).texts() == ["u1", "a1", "u2-alt"]


def test_a_session_id_that_is_no_id_is_replaced_and_marked() -> None:
    data = branched().data().replace(SESSION.encode(), b"a\\u0001" + b"x" * 300)
    taken = take(data)
    assert taken.session.conversation_id.startswith("sha256:")
    assert "conversation_id" in (taken.events()[0].normalized or [])


def test_another_name_is_taken_for_the_conversation_and_its_branches() -> None:
    taken = take(branched().data(), name="mine")
    assert list(taken.own) == ["mine", "mine~alt"]
    assert taken.ids()["mine"] == take(branched().data()).ids()[SESSION]


def test_a_file_that_changes_while_it_is_read_is_named() -> None:
    data = branched().data()
    session = Session.read(split_lines([data]), "x.jsonl")
    with pytest.raises(SourceChanged, match=r"x\.jsonl changed while it was read \(at line 1\)"):
        list(next(session.streams(lambda offset, length: b"x" * length)).events())


def test_versions_that_the_ledger_gives_are_the_ones_named() -> None:
    """A conversation that holds events of others: forks and compactions still name the right versions."""
    file = branched()
    data = file.data()
    session = Session.read(split_lines([data]), "x.jsonl")
    streams = session.streams(lambda offset, length: data[offset : offset + length])
    ids = take(data).ids()[SESSION]
    stored = {event_id: version + (100 if version > 4 else 0) for version, event_id in enumerate(ids[:-2], 1)}
    list(next(streams).events(stored, max(stored.values()) + 7))
    assert next(streams).source_version == 108


def test_what_is_held_of_a_record_is_small() -> None:
    def peak(turns: int) -> int:
        file = SessionFile()
        for number in range(turns):
            file.user("go")
            file.assistant(call(f"toolu_{number:020}"), stop="toolUse")
            file.result(f"toolu_{number:020}")
        data = file.data()
        lines = [*split_lines([data])]
        tracemalloc.start()
        session = Session.read(lines, "x.jsonl")
        for stream in session.streams(lambda offset, length: data[offset : offset + length]):
            for _ in stream.events():
                pass
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return held

    assert (peak(2_500) - peak(500)) / (2_000 * 3) < 300  # bytes; as objects they took 800

"""The recorded streams of providers and of the AI SDK: exactly what each one gives, whole, cut and damaged."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger import Ledger
from ledger.events import StepStart
from ledger.intake.lines import split_lines
from ledger.intake.streams import STREAMS
from ledger.stream_recorder import StreamRecorder, Summary
from replay import replay
from tests.conformance import REPOSITORY, SHARED, needs_shared
from tests.streams import Taken, check_sound, take

pytestmark = needs_shared

FIXTURES = SHARED / "fixtures"


class Expected(NamedTuple):
    """What a file has to give: steps, calls with their tools, results, end, first words of each text."""

    runtime: str
    steps: int
    calls: list[str]
    results: int
    end: tuple[str, str | None]
    texts: list[str]
    thoughts: int = 0
    usage: tuple[int, int] | None = None
    """Uncached input and output tokens, over all steps."""


EXPECTED = {
    "anthropic-sse/anthropic-compaction.1.chunks.txt": Expected(
        "anthropic",
        1,
        [],
        0,
        ("complete", "end_turn"),
        ["Based on the conversation history"],
        usage=(612, 2819),
    ),
    "anthropic-sse/anthropic-fallback.chunks.txt": Expected(
        "anthropic",
        1,
        [],
        0,
        ("complete", "end_turn"),
        ["The printing press was invented by"],
        usage=(412, 264),
    ),
    "anthropic-sse/anthropic-mcp.1.chunks.txt": Expected(
        "anthropic", 1, ["echo"], 1, ("complete", "end_turn"), ["The echo tool responded"], usage=(1250, 83)
    ),
    "anthropic-sse/anthropic-refusal.chunks.txt": Expected(
        "anthropic", 1, [], 0, ("complete", "refusal"), [], usage=(18, 5)
    ),
    "anthropic-sse/anthropic-tool-no-args.chunks.txt": Expected(
        "anthropic", 1, ["updateIssueList"], 0, ("complete", "tool_use"), ["I'll update"], usage=(565, 48)
    ),
    "anthropic-sse/duplicate-message-start.chunks.txt": Expected(
        "anthropic", 1, [], 0, ("complete", "end_turn"), ["Hello, World!"], usage=(17, 227)
    ),
    "anthropic-sse/spliced-message-start.chunks.txt": Expected(
        "anthropic", 2, ["test-tool"], 0, ("complete", "tool_use"), [], thoughts=2, usage=(34, 66)
    ),
    "openai-sse/chat-openai-text.chunks.txt": Expected(
        "openai-chat", 1, [], 0, ("complete", "stop"), ["**Holiday Name:** Harmony Day"], usage=(16, 300)
    ),
    "openai-sse/responses-github-copilot-id-rotation.1.chunks.txt": Expected(
        "openai-responses", 1, [], 0, ("complete", "completed"), ["There are **3** letter"], 1, (19, 105)
    ),
    "openai-sse/responses-openai-apply-patch-tool.1.chunks.txt": Expected(
        "openai-responses", 1, ["apply_patch"], 0, ("complete", "completed"), [], usage=(642, 67)
    ),
    "openai-sse/responses-openai-code-interpreter-tool.1.chunks.txt": Expected(
        "openai-responses",
        1,
        ["code_interpreter"] * 3,
        3,
        ("complete", "completed"),
        ["Here’s a simulation of rolling two fair"],
        4,
        (3103, 1623),
    ),
    "openai-sse/responses-openai-compaction.1.chunks.txt": Expected(
        "openai-responses", 1, [], 0, ("complete", "completed"), ["### Testing strategies"], usage=(1305, 2505)
    ),
    "openai-sse/responses-openai-error.1.chunks.txt": Expected(
        "openai-responses", 1, [], 0, ("error", "insufficient_quota"), []
    ),
    "ai-sdk/v7.0.173-full-stream-abort.jsonl": Expected("ai-sdk", 0, [], 0, ("abort", "user stop"), []),
    "ai-sdk/v7.0.173-full-stream-badreq.jsonl": Expected("ai-sdk", 0, [], 0, ("error", "AI_APICallError"), []),
    "ai-sdk/v7.0.173-full-stream-fix.jsonl": Expected(
        "ai-sdk",
        4,
        ["Read", "Read", "Edit", "Bash", "Bash"],
        5,
        ("complete", "stop"),
        ["I'll look at the module", "Now the tests.", "Fixed: `add()` subtracted"],
        3,
        (48, 477),
    ),
    "ai-sdk/v7.0.173-full-stream-midfail.jsonl": Expected(
        "ai-sdk", 1, [], 0, ("error", "incomplete"), ["The first part of an ans"], 1
    ),
    "ai-sdk/v7.0.173-ui-stream-abort.sse": Expected(
        "ai-sdk", 1, ["Bash"], 0, ("abort", "user stop"), ["I will sleep."]
    ),
    "ai-sdk/v7.0.173-ui-stream-fix.sse": Expected(
        "ai-sdk",
        4,
        ["Read", "Read", "Edit", "Bash", "Bash"],
        5,
        ("complete", "stop"),
        ["I'll look at the module", "Now the tests.", "Fixed: `add()` subtracted"],
        3,
        (48, 477),
    ),
    "ai-sdk/v7.0.173-ui-stream-maxtok.sse": Expected(
        "ai-sdk", 1, [], 0, ("complete", "length"), ["This answer is long and gets cut"], usage=(12, 107)
    ),
    "ai-sdk/v7.0.173-ui-stream-midfail.sse": Expected(
        "ai-sdk", 1, [], 0, ("error", "incomplete"), ["The first part of an ans"], 1
    ),
}

each_file = pytest.mark.parametrize("name", EXPECTED)
RESTATED = [f"ai-sdk/v7.0.173-ui-stream-{case}.sse" for case in ("abort", "fix", "maxtok")]


def bytes_of(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def taken(name: str, data: bytes | list[bytes] | None = None) -> Taken:
    return take(EXPECTED[name].runtime, bytes_of(name) if data is None else data)


def test_every_stream_of_these_formats_is_here() -> None:
    folders = ("anthropic-sse", "openai-sse", "ai-sdk")
    there = {
        f"{folder}/{path.name}"
        for folder in folders
        for path in (FIXTURES / folder).iterdir()
        if "ui-messages" not in path.name
    }
    assert there == set(EXPECTED)


@each_file
def test_what_it_gives(name: str) -> None:
    these, expected = taken(name), EXPECTED[name]
    assert len(these.of("turn_start")) == 1
    assert len(these.steps) == expected.steps
    assert [tool for _, tool, _ in these.calls] == expected.calls
    assert len(these.results) == expected.results
    assert these.ends == [expected.end]
    assert len(these.texts) == len(expected.texts)
    assert all(map(str.startswith, these.texts, expected.texts)), these.texts
    assert len(these.thoughts) == expected.thoughts
    counts = [event["usage"] for event in these.of("step_finish", "token_usage") if event.get("usage")]
    summed = tuple(sum(count[field] for count in counts) for field in ("input", "output")) if counts else None
    assert summed == expected.usage
    assert these.notes("raw") == these.notes("broken line") == []
    check_sound(these)


@each_file
def test_any_chunks_give_the_same_events(name: str) -> None:
    data, whole = bytes_of(name), taken(name)
    chance = random.Random(name)
    for _ in range(3):
        chunks, at = [], 0
        while at < len(data):
            size = chance.choice((1, 2, 7, 100, 4096)) if len(data) < 20_000 else chance.randint(1, 9000)
            chunks.append(data[at : at + size])
            at += size
        assert taken(name, chunks).events == whole.events


def completed(these: Taken) -> dict[str, Any]:
    """Blocks that were complete when they were written, by id."""
    kinds = ("thinking_complete", "text_complete", "tool_start", "tool_result", "compaction")
    return {event["id"]: event for event in these.of(*kinds) if not event.get("partial")}


def prefixes(name: str) -> list[int]:
    """Places to cut: after records, spread over the file, and at random bytes."""
    data = bytes_of(name)
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
    chance = random.Random(name)
    every = max(1, len(ends) // 40)
    return [*ends[::every], *ends[-6:], *(chance.randrange(len(data)) for _ in range(20))]


@each_file
def test_cut_anywhere(name: str) -> None:
    """No cut raises, every turn keeps one end, what was complete before the cut stays word for word, and a
    stream that was cut inside a response is never complete."""
    data, whole = bytes_of(name), taken(name)
    for place in prefixes(name):
        cut = taken(name, data[:place])
        check_sound(cut)
        kept, all_of_it = completed(cut), completed(whole)
        for event_id, event in kept.items():
            if event_id in all_of_it:
                assert all_of_it[event_id] == event
        before = [event for event in cut.events if event["type"] not in ("note", "complete", "abort", "error")]
        # Without its last events, those that the cut itself made, it is how the whole begins.
        common = [event["id"] for event in before if event["id"] in {other["id"] for other in whole.events}]
        order = [event["id"] for event in whole.events if event["id"] in set(common)]
        assert common == order
        if ("complete" in cut.kinds) and cut.ends != whole.ends:
            pytest.fail(f"cut at byte {place}: {cut.ends}")


@each_file
def test_a_broken_line_costs_itself(name: str) -> None:
    """One line of garbage anywhere: a note with its number and bytes; every block is still there."""
    lines = bytes_of(name).split(b"\n")
    chance = random.Random(name)
    whole = taken(name)
    for _ in range(6):
        at = chance.randrange(len(lines))
        broken = [*lines[:at], b'data: {"type":"text-delta", "\xff', *lines[at:]]
        these = taken(name, b"\n".join(broken))
        (note,) = these.notes("broken line")
        assert note["line"] == at + 1
        assert "\ufffd" in note["bytes"]
        assert note["normalized"] == ["bytes"]
        assert (these.texts, these.calls, these.ends) == (whole.texts, whole.calls, whole.ends)
        check_sound(these)


def test_damage_at_random(long_run: bool) -> None:
    """Bytes flipped, lines lost, doubled and swapped: never an exception, always one end a turn."""
    chance = random.Random(3)
    for name in EXPECTED:
        data = bytes_of(name)
        if len(data) > 100_000 and not long_run:
            continue
        for _ in range(60 if long_run else 12):
            lines = data.split(b"\n")
            for _ in range(chance.randint(1, 4)):
                at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
                what = chance.choice(("lose", "double", "swap", "flip", "halve"))
                if what == "lose":
                    lines[at] = b""
                elif what == "double":
                    lines.insert(at, lines[other])
                elif what == "swap":
                    lines[at], lines[other] = lines[other], lines[at]
                elif what == "halve":
                    lines[at] = lines[at][: len(lines[at]) // 2]
                elif lines[at]:
                    place = chance.randrange(len(lines[at]))
                    flipped = bytes([lines[at][place] ^ (1 << chance.randrange(8))])
                    lines[at] = lines[at][:place] + flipped + lines[at][place + 1 :]
            check_sound(taken(name, b"\n".join(lines)))


# -- what the AI SDK itself restates


def restated(name: str) -> list[dict[str, Any]]:
    """The messages that the SDK made of a stream, in the neutral form."""
    path = FIXTURES / name.replace("ui-stream", "ui-messages").replace(".sse", ".json")
    messages: list[dict[str, Any]] = []
    for message in json.loads(path.read_text())["messages"]:
        answers: list[dict[str, Any]] = []
        content: list[dict[str, Any]] = []
        for part in [*message["parts"], {"type": "step-start"}]:
            kind = part["type"]
            if kind == "step-start":
                messages += [{"role": "assistant", "content": content}] if content else []
                messages += [{"role": "tool", "content": answers}] if answers else []
                content, answers = [], []
            elif kind == "text":
                content.append({"type": "text", "text": part["text"]})
            elif kind == "reasoning":
                thinking = {"type": "thinking", "text": part["text"]}
                signature = part.get("providerMetadata", {}).get("anthropic", {}).get("signature")
                content.append({**thinking, "signature": signature} if signature else thinking)
            else:
                tool, call_id = kind.removeprefix("tool-"), part["toolCallId"]
                call = {"type": "tool_call", "tool_call_id": call_id, "tool_name": tool, "args": part["input"]}
                content.append(call)
                if part["state"] in ("output-available", "output-error"):
                    failed = part["state"] == "output-error"
                    answer = {"type": "tool_result", "tool_call_id": call_id, "is_error": failed}
                    answers.append({**answer, "content": part["errorText" if failed else "output"]})
    return messages


@pytest.mark.parametrize("name", RESTATED)
def test_the_neutral_replay_is_what_the_sdk_made_of_it(name: str) -> None:
    assert said(taken(name)) == restated(name)


def test_full_stream_and_ui_stream_of_one_script_say_the_same() -> None:
    """Two runs of one script: only the ids of their calls differ."""
    full = said(taken("ai-sdk/v7.0.173-full-stream-fix.jsonl"))
    assert renamed(full) == renamed(restated("ai-sdk/v7.0.173-ui-stream-fix.sse"))


def said(these: Taken) -> list[Any]:
    """The neutral messages, without the stand-ins for calls that nothing answered."""
    known = {call_id for call_id, _, _ in these.results}
    messages: list[Any] = [
        {
            "role": message["role"],
            "content": [
                part
                for part in message["content"]  # type: ignore[union-attr]
                if part["type"] != "tool_result" or part["tool_call_id"] in known  # type: ignore[index, call-overload]
            ],
        }
        for message in these.replay().messages
    ]
    return [message for message in messages if message["content"]]


def renamed(messages: list[Any]) -> list[Any]:
    """The messages with calls numbered in order."""
    names: dict[str, str] = {}
    text = json.dumps(messages)
    for message in messages:
        for part in message["content"]:
            if part["type"] == "tool_call":
                names[part["tool_call_id"]] = f"call {len(names)}"
    for name, number in names.items():
        text = text.replace(name, number)
    renamed: list[Any] = json.loads(text)
    return renamed


# -- stored


def record(ledger: Ledger, name: str, data: bytes, conversation: str | None = None) -> Summary:
    runtime = EXPECTED[name].runtime
    recorder = StreamRecorder(ledger, conversation or Path(name).name, runtime, STREAMS[runtime])
    for line in split_lines([data]):
        recorder.line(line)
    recorder.caught_up()
    return recorder.end("eof")


def test_who_answers_can_be_said(ledger: Ledger) -> None:
    name = "openai-sse/chat-openai-text.chunks.txt"
    recorder = StreamRecorder(ledger, "c", "openai-chat", STREAMS["openai-chat"], provider="openai")
    for line in split_lines([bytes_of(name)]):
        recorder.line(line)
    recorder.end("eof")
    started = [event.event for event in ledger.read("c") if isinstance(event.event, StepStart)]
    assert [event.provider for event in started] == ["openai"]


def test_a_cut_stream_recorded_again_whole_is_there_once(ledger: Ledger) -> None:
    """The first part, then all of it: what is replayed is what the whole alone gives."""
    chance = random.Random(8)
    for name in EXPECTED:
        data, whole = bytes_of(name), taken(name).replay().messages
        for place in (chance.randrange(len(data)), data.rfind(b"\n", 0, -2) + 1):
            conversation = f"{Path(name).name} {place}"
            for part in (data[:place], data):
                record(ledger, name, part, conversation)
            assert replay(ledger.read(conversation), conversation).messages == whole, conversation


def test_recording_twice_adds_nothing(ledger: Ledger) -> None:
    """Every file, on each engine: all events stored once, the second time all known."""
    for name in EXPECTED:
        data = bytes_of(name)
        first = record(ledger, name, data)
        stored = [(event.event_id, event.body) for event in ledger.read(Path(name).name)]
        assert [event_id for event_id, _ in stored] == [event["id"] for event in taken(name).events]
        again = record(ledger, name, data)
        assert (first.added, again.added, again.differing) == (len(stored), 0, 0)
        assert [(event.event_id, event.body) for event in ledger.read(Path(name).name)] == stored


# -- documented


@each_file
def test_the_documentation_says_what_it_gives(name: str) -> None:
    page = (REPOSITORY / "docs" / "recording-streams.md").read_text(encoding="utf-8")
    these = taken(name)
    end = ", ".join(f"{kind} `{why}`" if why else kind for kind, why in these.ends)
    counts = (
        these.of("turn_start"),
        these.steps,
        these.calls,
        these.results,
        these.texts,
        these.thoughts,
    )
    cells = [name, EXPECTED[name].runtime, *(str(len(counted)) for counted in counts), end]
    assert f"| {' | '.join(cells)} |\n" in page

"""Events like those of a coding agent: about 900 bytes each, in turns of several steps with tools."""

from __future__ import annotations

import random
from collections.abc import Iterator

from ledger.admission import admit
from ledger.chain import header_writer
from ledger.events import (
    SCHEMA,
    BaseEvent,
    Complete,
    StepFinish,
    StepStart,
    TextComplete,
    ThinkingComplete,
    TokenUsage,
    ToolResult,
    ToolStart,
    TurnStart,
    UserMessage,
)
from ledger.recorded import EncodedEvent, RecordedEvent

WORDS = [
    "the",
    "file",
    "reads",
    "returns",
    "error",
    "test",
    "module",
    "after",
    "before",
    "value",
    "which",
    "parser",
    "stream",
    "model",
    "step",
    "result",
    "call",
    "path",
    "line",
    "function",
    "naïve",
    "größe",
    "“quoted”",
    "→",
    "index",
    "lock",
    "writer",
    "reader",
    "commit",
    "batch",
    "state",
    "head",
    "chain",
]
STEPS_A_TURN = 6


class Corpus:
    """Deterministic events; the same seed gives the same bytes."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        # A few long passages to cut from: making texts word by word takes longer than what is measured.
        self._passages = [" ".join(self._random.choices(WORDS, k=600)) for _ in range(20)]

    def words(self, length: int) -> str:
        """Text of about `length` characters."""
        passage = self._random.choice(self._passages)
        start = self._random.randrange(max(1, len(passage) - length))
        return passage[start : start + length]

    def conversation(self, conversation_id: str, events: int) -> Iterator[BaseEvent]:
        """That many events of one conversation: turns of steps that think, speak and call tools."""
        made = 0
        turn = 0
        while made < events:
            for event in self._turn(conversation_id, f"turn-{turn}"):
                if made == events:
                    return
                yield event.model_copy(update={"id": f"e{made}"})
                made += 1
            turn += 1

    def _turn(self, conversation_id: str, turn_id: str) -> Iterator[BaseEvent]:
        at = "2026-11-30T12:00:00.000Z"
        place = {"conversation_id": conversation_id, "turn_id": turn_id, "at": at}
        yield TurnStart(**place, runtime="pi")
        yield UserMessage(**place, content=self.words(500))
        for number in range(STEPS_A_TURN):
            step = {**place, "step_id": f"{turn_id}-step-{number}"}
            yield StepStart(
                **step,
                provider="anthropic",
                api="anthropic-messages",
                model="claude-opus-4-5",
                request_fingerprint="sha256:" + f"{self._random.getrandbits(256):064x}",
            )
            yield ThinkingComplete(
                **step, block_index=0, text=self.words(1000), signature=f"{self._random.getrandbits(1600):x}"
            )
            yield TextComplete(**step, block_index=1, text=self.words(400))
            for call in range(2):
                name = f"toolu_{turn_id}_{number}_{call}"
                arguments = {"path": "src/stream.py", "old": self.words(300), "new": self.words(300), "n": call}
                yield ToolStart(
                    **step, block_index=2 + call, tool_call_id=name, tool_name="edit", args=arguments
                )
            for call in range(2):
                yield ToolResult(
                    **step,
                    tool_call_id=f"toolu_{turn_id}_{number}_{call}",
                    content=[{"type": "text", "text": self.words(1750)}],
                    duration_ms=40 + call,
                )
            usage = {"input": 1200, "output": 310, "cache_read": 50_000, "cache_write": 900}
            yield StepFinish(
                **step, finish_reason="tool_use", usage=usage, response_id=f"msg_{turn_id}_{number}"
            )
            yield TokenUsage(**step, usage=usage)
        yield Complete(**place, stop_reason="end_turn")


def encoded(conversation_id: str, events: int, seed: int = 1) -> list[EncodedEvent]:
    """A conversation as it goes into the store."""
    return [
        admit(event, conversation_id, "unused") for event in Corpus(seed).conversation(conversation_id, events)
    ]


def recorded(bodies: list[EncodedEvent], conversation_id: str) -> list[RecordedEvent]:
    """The same as the store gives it back, not decoded yet."""
    header = header_writer("default", conversation_id, "local", 1_764_500_000_000_000, SCHEMA)
    salt = bytes(16)
    return [
        RecordedEvent.stored(
            "default",
            conversation_id,
            version,
            event.id,
            event.type,
            header(event.id, event.step_id, event.turn_id, event.type, version),
            salt + event.body,
            None,
            0,
            version,
        )
        for version, event in enumerate(bodies, 1)
    ]


class Batches:
    """Batches of new ids over and over the same bodies, which a writer prepares before its clock starts."""

    def __init__(self, writer: str) -> None:
        self._bodies = encoded(writer, 400)
        self._made = 0
        self._writer = writer

    def take(self, count: int, size: int) -> list[list[EncodedEvent]]:
        """`count` batches of `size` events."""
        batches = []
        for _ in range(count):
            batch = []
            for _ in range(size):
                event = self._bodies[self._made % len(self._bodies)]
                name = f"{self._writer}-{self._made}"
                body = event.body.replace(b'"id":"e', b'"id":"' + name.encode() + b"-", 1)
                batch.append(event._replace(id=name + event.id.replace("e", "-", 1), body=body))
                self._made += 1
            batches.append(batch)
        return batches

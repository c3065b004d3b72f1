"""Chunks of Chat Completions in, calls of a recording out (specs/formats.md 10; table in
docs/recording-streams.md)."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.lines import Line
from ledger.intake.mending import as_text
from ledger.intake.model_turns import ModelTurns, worth_another_try
from ledger.intake.openai_chat.answer import Answer
from ledger.intake.payloads import DONE, Payloads
from ledger.intake.stream import End, StreamOptions
from ledger.intake.token_counts import openai_usage
from ledger.turns import Recording

API = "openai-completions"
_GOES_ON = frozenset({"tool_calls", "function_call"})
_DROPS = {"content_filter": "content filter"}
_FAILED = frozenset({"error", "insufficient_system_resource"})
_BESIDE = ("service_tier", "system_fingerprint", "provider", "created", "citations", "search_results", "x_groq")


class OpenAIChatStream:
    """One stream: completion after completion, each a step."""

    def __init__(self, recording: Recording, options: StreamOptions) -> None:
        self._recording = recording
        self._payloads = Payloads(recording)
        self._turns = ModelTurns(recording, options, "openai-chat")
        self._provider = options.provider
        self._completion: _Completion | None = None

    def line(self, line: Line) -> None:
        """The next line."""
        for payload in self._payloads.of(line):
            if payload == DONE:
                self._done()
            elif not self._record(payload):
                self._recording.note("raw", f"Line {line.number}: not understood.", entry=payload)

    def end(self, end: End) -> None:
        """There is no more. A completion that gave its finish reason is whole without `[DONE]`."""
        self._payloads.end()
        completion = self._completion
        if completion is not None:
            if completion.reason is not None and not self._turns.failed:
                self._complete(completion, at_end=True)
            else:
                self._cut(completion)
        self._turns.end(end)

    def _record(self, record: JsonObject) -> bool:
        """Take one chunk; False when it is none."""
        choices, usage = record.get("choices"), record.get("usage")
        error = record.get("error")
        if error is not None:
            if self._completion is not None:
                self._choices(self._completion, choices)
            return self._error(record, error)
        if not isinstance(choices, list) and not isinstance(usage, dict):
            return False
        if self._turns.failed and not choices:
            return False
        completion = self._of(record)
        completion.note(record)
        self._choices(completion, choices)
        if completion.reason in _FAILED:
            said = f"The answer ended with {completion.reason}."
            return self._error(record, {"message": said, "code": completion.reason})
        if completion.answer.step.ended:
            self._late_usage(completion, usage)
            return True
        if isinstance(usage, dict):
            completion.count(usage)
        if completion.reason is not None:
            self._finish(completion)
        return True

    def _late_usage(self, completion: _Completion, usage: Json) -> None:
        """The count often comes in a chunk of its own, after the answer."""
        counted = openai_usage(usage) if isinstance(usage, dict) else None
        if counted is not None and usage != completion.usage:
            self._turns.turn().token_usage(counted, completion.answer.step.step_id)
            self._complete(completion)

    def _choices(self, completion: _Completion, choices: Json) -> None:
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._choice(completion, choice)

    def _choice(self, completion: _Completion, choice: JsonObject) -> None:
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")  # a whole answer in one piece
        told: JsonObject = delta if isinstance(delta, dict) else {}
        if choice.get("index") not in (0, None):
            completion.other(choice, told)
            return
        completion.answer.delta(told)
        completion.reason = as_text(choice.get("finish_reason")) or completion.reason

    def _of(self, record: JsonObject) -> _Completion:
        """The completion that a chunk belongs to: begun now where it is the first of it.

        Some servers give every chunk an id of its own, some none to the first, some the same to all answers.
        So a new id begins another completion only where ids have been steady, or the one before gave its
        reason; and after the reason, whatever says something more does.
        """
        name = as_text(record.get("id"))
        known = self._completion
        if known is not None and not self._turns.failed:
            same = not name or name == known.name or not known.name
            if same and (known.reason is None or not _speaks(record)):
                known.seen(name)
                return known
            if known.reason is not None and record.get("choices"):
                self._complete(known)
            elif known.steady:
                self._cut(known)
            else:
                known.rotates = True
                return known
        model = as_text(record.get("model")) or None
        step = self._turns.begin(name or None, provider=self._provider, api=API, model=model)
        self._completion = _Completion(name, model, Answer(step))
        return self._completion

    def _done(self) -> None:
        """`[DONE]`: the completion is over. Without a finish reason it was cut somewhere before."""
        completion = self._completion
        if completion is None or self._turns.failed:
            return
        if completion.reason is not None:
            self._complete(completion)
        else:
            self._cut(completion)
            self._turns.fail("The answer ended without a finish reason.", "missing_terminal_event", again=True)

    def _finish(self, completion: _Completion) -> None:
        """The answer gave its reason: all of it is there, but for a count that may follow."""
        answer, reason = completion.answer, completion.reason
        answer.end()
        answer.step.finish(
            reason,
            openai_usage(completion.usage),
            completion.name or None,
            out_of_tokens=reason == "length",
            drop_calls=_DROPS.get(reason or ""),
            provider_metadata={**completion.beside, **answer.beside} or None,
        )
        self._write_others(completion)

    def _complete(self, completion: _Completion, *, at_end: bool = False) -> None:
        """Nothing more comes of this answer."""
        self._completion = None
        reason = completion.reason
        stops = reason == "length" or reason in _DROPS
        goes_on = reason in _GOES_ON or (completion.answer.calls and not stops)
        self._turns.finished(reason, goes_on=goes_on, at_end=at_end)

    def _write_others(self, completion: _Completion) -> None:
        """Other choices than the first are no part of the conversation: each is a note."""
        for choice in completion.others.values():
            said = f"Choice {choice['index']}, not the one taken."
            self._recording.note("choice", said, step_id=completion.answer.step.step_id, entry=choice)

    def _cut(self, completion: _Completion) -> None:
        self._completion = None
        if not completion.answer.step.ended:
            completion.answer.end(cut=True)
            self._write_others(completion)

    def _error(self, record: JsonObject, error: Json) -> bool:
        if self._completion is not None:
            self._cut(self._completion)
        told: JsonObject = error if isinstance(error, dict) else {"message": error}
        code = told.get("code")
        name = as_text(code) or as_text(told.get("type")) or None
        passing = worth_another_try(told.get("type")) or worth_another_try(name) or code in _PASSING
        said = as_text(told.get("message")) or "The provider reported an error."
        self._turns.fail(said, name, again=passing, entry=record)
        return True


_PASSING = (408, 429, 500, 502, 503, 504, 529, "429", "500", "502", "503", "504", "529")


def _speaks(record: JsonObject) -> bool:
    """Whether a chunk says something, or calls something."""
    choices = record.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if isinstance(delta, dict) and any(value for name, value in delta.items() if name != "role"):
            return True
    return False


class _Completion:
    """One completion as it comes."""

    def __init__(self, name: str, model: str | None, answer: Answer) -> None:
        self.name = name
        self.model = model
        self.answer = answer
        self.reason: str | None = None
        self.usage: JsonObject = {}
        self.beside: JsonObject = {}
        self.rotates = False
        self._again = 0
        self.others: dict[str, JsonObject] = {}

    @property
    def steady(self) -> bool:
        """Whether its chunks share their id."""
        return self._again > 0 and not self.rotates

    def seen(self, name: str) -> None:
        """One more chunk of it came."""
        if name and name == self.name:
            self._again += 1
        self.name = self.name or name

    def count(self, usage: JsonObject) -> None:
        """The last count is that of the whole."""
        self.usage = usage
        if (counted := openai_usage(usage)) is not None:
            self.answer.step.usage(counted)

    def note(self, record: JsonObject) -> None:
        """What chunks say besides their choices."""
        self.beside.update({key: record[key] for key in _BESIDE if record.get(key) is not None})

    def other(self, choice: JsonObject, delta: JsonObject) -> None:
        """A piece of another choice than the first."""
        kept = self.others.setdefault(str(choice.get("index")), {"index": choice.get("index"), "text": ""})
        kept["text"] = as_text(kept.get("text")) + as_text(delta.get("content"))
        if choice.get("finish_reason") is not None:
            kept["finish_reason"] = choice["finish_reason"]
        pieces = delta.get("tool_calls")
        if isinstance(pieces, list):
            before = kept.get("tool_calls")
            kept["tool_calls"] = [*(before if isinstance(before, list) else ()), *pieces]


def make(recording: Recording, options: StreamOptions) -> OpenAIChatStream:
    """The adapter of one stream."""
    return OpenAIChatStream(recording, options)

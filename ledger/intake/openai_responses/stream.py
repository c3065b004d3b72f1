"""Events of the Responses API in, calls of a recording out (specs/formats.md 10; table in
docs/recording-streams.md)."""

from __future__ import annotations

from ledger.events import Json, JsonObject
from ledger.intake.lines import Line
from ledger.intake.mending import as_text
from ledger.intake.model_turns import Context, ModelTurns, worth_another_try
from ledger.intake.openai_responses.items import Items
from ledger.intake.payloads import DONE, Payloads
from ledger.intake.stream import End, StreamOptions
from ledger.intake.token_counts import openai_usage
from ledger.turns import Recording, Step

PROVIDER, API = "openai", "openai-responses"
_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THINKING = {
    "response.reasoning_summary_text.delta": "summary_index",
    "response.reasoning_text.delta": "content_index",
}
_ARGUMENTS = frozenset(
    {
        "response.function_call_arguments.delta",
        "response.custom_tool_call_input.delta",
        "response.mcp_call_arguments.delta",
        "response.code_interpreter_call_code.delta",
        "response.apply_patch_call_operation_diff.delta",
        "response.shell_call_command.delta",
    }
)
# Progress, and what the item itself says again when it is done.
_RESTATED = (
    ".added",
    ".done",
    ".in_progress",
    ".queued",
    ".completed",
    ".failed",
    ".searching",
    ".interpreting",
    ".generating",
    ".compacting",
    ".partial_image",
    ".output_content.delta",
)
_SETTINGS = (
    "background",
    "frequency_penalty",
    "max_output_tokens",
    "max_tool_calls",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning",
    "service_tier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "top_logprobs",
    "top_p",
    "truncation",
)


class OpenAIResponsesStream:
    """One stream: response after response, each a step."""

    def __init__(self, recording: Recording, options: StreamOptions, runtime: str = "openai-responses") -> None:
        self._recording = recording
        self._payloads = Payloads(recording)
        self._turns = ModelTurns(recording, options, runtime)
        self._provider = options.provider or PROVIDER
        self._response: tuple[Step, Items] | None = None
        self._gave_up = False  # an error was reported: the response's own failure says it again

    def line(self, line: Line) -> None:
        """The next line."""
        for payload in self._payloads.of(line):
            if payload != DONE and not self.take(payload):
                self._recording.note("raw", f"Line {line.number}: not understood.", entry=payload)

    def end(self, end: End) -> None:
        """There is no more."""
        self._payloads.end()
        self._leave()
        self._turns.end(end)

    def take(self, record: JsonObject) -> bool:
        """Take one event; False when it is of no known type or does not belong here."""
        kind = record.get("type")
        response = record.get("response")
        if kind == "error" or (kind is None and isinstance(record.get("error"), dict)):
            return self._error(record, record.get("error") if "error" in record else record)
        if not isinstance(kind, str):
            return False
        if isinstance(response, dict):
            return self._whole(kind, response, record)
        index = record.get("output_index")
        if not isinstance(index, int):
            return kind.startswith("response.") and kind.endswith(_RESTATED)
        if self._turns.failed:
            return False
        _, items = self._response or self._begin({})
        item = record.get("item")
        piece = record.get("delta")
        if kind == "response.output_item.added" and isinstance(item, dict):
            items.added(index, item)
        elif kind == "response.output_item.done" and isinstance(item, dict):
            items.done(index, item)
        elif kind in _TEXT:
            items.text(index, _place(record.get("content_index")), as_text(piece))
        elif kind in _THINKING:
            items.thinking(index, _place(record.get(_THINKING[kind])), as_text(piece))
        elif kind in _ARGUMENTS:
            items.arguments(index, as_text(piece))
        else:
            return kind.startswith("response.") and kind.endswith(_RESTATED)
        return True

    def _whole(self, kind: str, response: JsonObject, record: JsonObject) -> bool:
        """An event about the response itself."""
        if kind == "response.created":
            self._leave()
            self._begin(response)
        elif kind in ("response.in_progress", "response.queued"):
            if self._response is None and not self._turns.failed:
                self._begin(response)
        elif kind in ("response.completed", "response.incomplete", "response.done"):
            if self._turns.failed:
                return False
            self._finish(response)
        elif kind == "response.failed":
            return self._fail(response, record)
        elif kind == "response.cancelled":
            if self._turns.failed or (self._response is None and self._recording.running is None):
                return False
            self._restate(response)
            self._turns.turn().abort("cancelled")
        else:
            return False
        return True

    def _begin(self, response: JsonObject) -> tuple[Step, Items]:
        self._gave_up = False
        settings: JsonObject = {name: value for name in _SETTINGS if (value := response.get(name)) is not None}
        context = Context(response.get("instructions"), response.get("tools") or None, settings or None)
        step = self._turns.begin(
            as_text(response.get("id")) or None,
            provider=self._provider,
            api=API,
            model=as_text(response.get("model")) or None,
            context=context,
        )
        self._response = (step, Items(self._turns.turn(), step))
        return self._response

    def _finish(self, response: JsonObject) -> None:
        step, items = self._response or self._begin(response)
        items.restated(response.get("output"))
        items.settle()
        self._response = None
        details = response.get("incomplete_details")
        reason = as_text(details.get("reason")) if isinstance(details, dict) else ""
        stop = reason or as_text(response.get("status")) or "completed"
        step.finish(
            stop,
            _usage(response),
            as_text(response.get("id")) or None,
            out_of_tokens=reason == "max_output_tokens",
            drop_calls=f"incomplete: {reason}" if reason else None,
            provider_metadata=_beside(response),
        )
        self._turns.finished(stop, goes_on=not reason and items.calls > 0)

    def _fail(self, response: JsonObject, record: JsonObject) -> bool:
        if self._gave_up:  # the error before it said so already
            return True
        self._restate(response)
        return self._error(record, response.get("error"))

    def _restate(self, response: JsonObject) -> None:
        if self._response is not None:
            step, items = self._response
            items.restated(response.get("output"))
            if (usage := _usage(response)) is not None:
                step.usage(usage)
        self._leave()

    def _error(self, record: JsonObject, error: Json) -> bool:
        self._leave()
        self._gave_up = True
        told: JsonObject = error if isinstance(error, dict) else {"message": error}
        code = as_text(told.get("code")) or as_text(told.get("type")) or None
        said = as_text(told.get("message")) or "The provider reported an error."
        self._turns.fail(said, code, again=worth_another_try(code), entry=record)
        return True

    def _leave(self) -> None:
        """The response under way will not go on."""
        if self._response is not None:
            self._response[1].settle()
            self._response = None


def _usage(response: JsonObject) -> JsonObject | None:
    usage = response.get("usage")
    return openai_usage(usage) if isinstance(usage, dict) else None


def _beside(response: JsonObject) -> JsonObject | None:
    """What the response's end says besides its output, its reason and its usage."""
    names = ("previous_response_id", "conversation", "service_tier", "incomplete_details")
    told: JsonObject = {name: response[name] for name in names if response.get(name) is not None}
    return told or None


def _place(index: Json) -> int:
    return index if isinstance(index, int) else 0


def make(recording: Recording, options: StreamOptions) -> OpenAIResponsesStream:
    """The adapter of one stream."""
    return OpenAIResponsesStream(recording, options)

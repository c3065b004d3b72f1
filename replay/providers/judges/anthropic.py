"""Judges a request to Anthropic's Messages API: what stands where, call by call and turn by turn.

The server merges neighbours of one role (A8), so the rules across messages look at *runs*: all messages of one
role in a row, as one list of blocks. Shape is judged in `anthropic_shape`, unchanged thinking in
`anthropic_original`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation, has_surrogates
from replay.providers.judges.anthropic_original import judge_original
from replay.providers.judges.anthropic_settings import judge_settings
from replay.providers.judges.anthropic_shape import (
    Blocks,
    blocks_of,
    found,
    is_object,
    is_server_result,
    judge_message,
    judge_text_blocks,
)
from replay.providers.judges.anthropic_special import judge_special

_MAX_CACHE_POINTS = 4
_OLD_MODEL = re.compile(r"claude-(instant|[123](?![0-9]))")
_THINKING = ("thinking", "redacted_thinking")
# server tool name -> what the type of its declaration starts with
_DECLARED_AS = {
    "bash_code_execution": "code_execution",
    "text_editor_code_execution": "code_execution",
}


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring messages of one role as one list of blocks; `where` is the first one's path."""

    role: str
    where: str
    blocks: Blocks

    @property
    def calls(self) -> list[tuple[str, str]]:
        """(path, id) of the client tool calls."""
        return [(path, str(block.get("id"))) for path, block in self.blocks if block.get("type") == "tool_use"]

    @property
    def starts_with_thinking(self) -> bool:
        """True when its first block is thinking; a compaction that the answer opened with stands before it."""
        kinds = (block.get("type") for _, block in self.blocks)
        return next((kind for kind in kinds if kind != "compaction"), None) in _THINKING


def judge(
    target: Target,
    request: Mapping[str, Json],
    sendable: bool,
    original: Sequence[Sequence[JsonObject]] | None,
) -> list[Violation]:
    """Every rule that the request breaks; see `replay.providers.violations`."""
    return list(_judge(target, request, sendable, original))


def _judge(
    target: Target,
    request: Mapping[str, Json],
    sendable: bool,
    original: Sequence[Sequence[JsonObject]] | None,
) -> Iterator[Violation]:
    messages = request.get("messages")
    if not isinstance(messages, list):
        yield found("A41", "messages", "messages is a list")
        return
    if "system" in request:
        yield from judge_text_blocks(request["system"], "system")
    for index, message in enumerate(messages):
        yield from judge_message(message, f"messages.{index}")
        if has_surrogates(message):
            yield found("S1", f"messages.{index}", "no low surrogate in string")
    if has_surrogates([request.get("system"), request.get("tools")]):
        yield found("S1", "system, tools", "no low surrogate in string")
    yield from _judge_cache_points(request)
    yield from judge_settings(target.model, request)
    yield from judge_special(request, messages, sendable)
    runs = _runs(messages)
    if sendable and not messages:
        yield found("A41", "messages", "at least one message is required")
    yield from _judge_places(runs)
    yield from _judge_pairs(runs, sendable)
    yield from _judge_unique_ids(runs)
    yield from _judge_server_tools(runs, request)
    if sendable:
        yield from _judge_end(runs)
    if _OLD_MODEL.match(target.model or ""):
        yield from _judge_emptiness(messages)
    thinking = request.get("thinking")
    if is_object(thinking) and thinking.get("type") == "enabled":
        yield from _judge_manual_thinking(runs)
    if original is not None:
        yield from judge_original(
            [run.blocks for run in runs if run.role == "assistant"], runs_since(runs), original
        )


def _runs(messages: Sequence[Json]) -> list[Run]:
    runs: list[Run] = []
    for index, message in enumerate(messages):
        if not is_object(message):
            continue
        role, where = str(message.get("role")), f"messages.{index}"
        blocks = blocks_of(message.get("content"), f"{where}.content")
        if runs and runs[-1].role == role:
            runs[-1].blocks.extend(blocks)
        else:
            runs.append(Run(role, where, blocks))
    return runs


def runs_since(runs: Sequence[Run]) -> int:
    """How many of the last assistant runs belong to the open turn: all since the last user text."""
    count = 0
    for run in reversed(runs):
        if run.role == "assistant":
            count += 1
        elif any(block.get("type") != "tool_result" for _, block in run.blocks) and (
            count or run is not runs[-1]
        ):
            break
    return count


def _judge_places(runs: Sequence[Run]) -> Iterator[Violation]:
    """A7 and A34; a compaction stands for the messages before it."""
    first = runs[0].blocks[0][1].get("type") if runs and runs[0].blocks else None
    if runs and runs[0].role == "assistant" and first != "compaction":
        yield found("A7", runs[0].where, 'first message must use the "user" role')
    for index, run in enumerate(runs):
        if run.role != "system":
            continue
        before = runs[index - 1].role if index else None
        after = runs[index + 1].role if index + 1 < len(runs) else None
        if before != "user" or after == "user":
            yield found(
                "A34", run.where, "a system message stands after a user message and before an assistant one"
            )


def _judge_pairs(runs: Sequence[Run], sendable: bool) -> Iterator[Violation]:
    """A1, A2, A3: the results that lead a user run answer the calls of the assistant run before it."""
    open_calls: dict[str, str] = {}
    last_assistant = max((index for index, run in enumerate(runs) if run.role == "assistant"), default=-1)
    for index, run in enumerate(runs):
        if run.role == "assistant":
            open_calls = {call_id: path for path, call_id in run.calls}
        known, answered, leading = dict(open_calls), set[str](), True
        if run.role == "user":
            for path, block in run.blocks:
                if block.get("type") != "tool_result":
                    leading = False
                    continue
                call_id = str(block.get("tool_use_id"))
                if call_id not in known:
                    yield found(
                        "A2", path, f"unexpected `tool_use_id` found in `tool_result` blocks: {call_id}"
                    )
                elif call_id in answered:
                    yield found("A3", path, f"Found multiple `tool_result` blocks with id: {call_id}")
                answered.add(call_id)
                if leading:
                    open_calls.pop(call_id, None)
        following = runs[index + 1].role if index + 1 < len(runs) else None
        if run.role == "assistant" and following == "user":
            continue  # judged at the end of that user run
        if sendable or index < last_assistant:
            for call_id, path in open_calls.items():
                message = f"`tool_use` ids were found without `tool_result` blocks immediately after: {call_id}"
                yield found("A1", path, message)
        if run.role != "system":
            open_calls = {}


def _judge_unique_ids(runs: Sequence[Run]) -> Iterator[Violation]:
    """A4: over client and server calls of the whole request."""
    seen: set[str] = set()
    for run in runs:
        for path, block in run.blocks:
            call_id = block.get("id")
            if block.get("type") in ("tool_use", "server_tool_use") and isinstance(call_id, str):
                if call_id in seen:
                    yield found("A4", path, f"`tool_use` ids must be unique: {call_id}")
                seen.add(call_id)


def _judge_server_tools(runs: Sequence[Run], request: Mapping[str, Json]) -> Iterator[Violation]:
    """A32: pairs inside one turn; A33: their tools are declared."""
    tools = request.get("tools")
    declared = [tool for tool in tools if is_object(tool)] if isinstance(tools, list) else []
    open_calls: dict[str, str] = {}
    for run in runs:
        carried = set(open_calls)  # a response after client results brings them first
        for path, block in run.blocks:
            kind = block.get("type")
            if run.role == "user" and kind != "tool_result":
                for call_id, place in open_calls.items():
                    message = f"tool use with id {call_id} was found without a corresponding result block"
                    yield found("A32", place, message)
                open_calls = {}
            elif kind == "server_tool_use":
                open_calls[str(block.get("id"))] = path
                name = str(block.get("name"))
                prefix = _DECLARED_AS.get(name, name)
                if not any(str(tool.get("type")).startswith(prefix) for tool in declared):
                    yield found("A33", path, f"no tool of this request provides {name}")
            elif kind == "mcp_tool_use":
                open_calls[str(block.get("id"))] = path
                if block.get("server_name") not in _servers(request):
                    yield found("A33", path, f"no server of this request is named {block.get('server_name')!r}")
            elif is_server_result(kind) and kind != "tool_result" and run.role == "assistant":
                call_id = str(block.get("tool_use_id"))
                if open_calls.pop(call_id, None) is None:
                    yield found(
                        "A32", path, f"unexpected tool_use_id {call_id}: no call of it stands before it"
                    )
        if run.role == "assistant":
            for call_id in sorted(carried & set(open_calls)):
                message = f"tool use with id {call_id} was found without a corresponding result block"
                yield found("A32", open_calls.pop(call_id), message)


def _servers(request: Mapping[str, Json]) -> list[Json]:
    servers = request.get("mcp_servers")
    return [one.get("name") for one in servers if is_object(one)] if isinstance(servers, list) else []


def _judge_end(runs: Sequence[Run]) -> Iterator[Violation]:
    """A9, A11c, A26; a message that paused on a server tool (A35) or a compaction may end the request."""
    last = next((run for run in reversed(runs) if run.role != "system"), None)
    if last is None or last.role != "assistant":
        return
    path, block = last.blocks[-1] if last.blocks else (last.where, JsonObject())
    kind = block.get("type")
    if kind in ("server_tool_use", "mcp_tool_use", "compaction") or (
        is_server_result(kind) and kind != "tool_result"
    ):
        return
    yield found("A9", last.where, "The conversation must end with a user message.")
    text = block.get("text")
    if kind == "text" and isinstance(text, str) and text != text.rstrip():
        yield found("A11c", path, "final assistant content cannot end with trailing whitespace")
    if kind in _THINKING:
        yield found("A26", path, "The final block in an assistant message cannot be `thinking`.")


def _judge_emptiness(messages: Sequence[Json]) -> Iterator[Violation]:
    """A11d, which the oldest models ask for."""
    for index, message in enumerate(messages):
        if not is_object(message) or message.get("content") not in ("", []):
            continue
        if message.get("role") == "assistant" and index + 1 < len(messages):
            yield found("A11d", f"messages.{index}", "all messages must have non-empty content")


def _judge_manual_thinking(runs: Sequence[Run]) -> Iterator[Violation]:
    """A24 and A25."""
    for run in runs:
        if run.role == "assistant" and not run.starts_with_thinking:
            for path, block in run.blocks:
                if block.get("type") in _THINKING:
                    yield found(
                        "A25",
                        path,
                        f"the first block must be thinking. Found `{run.blocks[0][1].get('type')}`.",
                    )
                    break
    if (
        not runs
        or runs[-1].role != "user"
        or not any(b.get("type") == "tool_result" for _, b in runs[-1].blocks)
    ):
        return
    loop = [run for run in runs if run.role == "assistant"][-max(1, runs_since(runs)) :]
    if loop and not any(run.starts_with_thinking for run in loop):
        kind = loop[-1].blocks[0][1].get("type") if loop[-1].blocks else None
        yield found(
            "A24",
            f"{loop[-1].where}.content.0",
            f"Expected `thinking` or `redacted_thinking`, but found `{kind}`.",
        )


def _judge_cache_points(request: Mapping[str, Json]) -> Iterator[Violation]:
    points = 0
    stack: list[Json] = [request.get("system"), request.get("tools"), request.get("messages")]
    while stack:
        item = stack.pop()
        if is_object(item):
            points += item.get("cache_control") is not None
            stack.extend(value for key, value in item.items() if key in ("content", "messages"))
        elif isinstance(item, list):
            stack.extend(item)
    if points > _MAX_CACHE_POINTS:
        yield found(
            "A40", "messages", f"A maximum of 4 blocks with cache_control may be provided. Found {points}."
        )

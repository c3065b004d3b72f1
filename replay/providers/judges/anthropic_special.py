"""Judges what few requests have: bound thinking, fallbacks, compactions, citations, callers, sizes."""

import json
from collections.abc import Iterator, Mapping, Sequence

from ledger.events import Json, JsonObject
from replay.providers.judges import Violation
from replay.providers.judges.anthropic_shape import Blocks, blocks_of, found, is_object

MAX_MESSAGES = 100_000
MAX_BODY = 32 * 1024 * 1024
_COMPACTION = frozenset({"type", "cache_control", "content", "encrypted_content", "signature", "tool_changes"})
_CITATION = frozenset({"type", "cited_text", "encrypted_index", "title", "url"})
_BEHAVIOR = "prefix_mismatch_behavior"
_BEHAVIORS = (None, "error", "drop_block")
_CALLERS = ("code_execution_20250825", "code_execution_20260120")


def judge_special(request: Mapping[str, Json], messages: Sequence[Json], sendable: bool) -> Iterator[Violation]:
    """A16, A31, A37, A38, A42, A43; A44 of a request that is to be sent."""
    yield from _judge_binding(request.get("thinking"))
    blocks: Blocks = []
    for index, message in enumerate(messages):
        if is_object(message):
            blocks += blocks_of(message.get("content"), f"messages.{index}.content")
    yield from _judge_compactions(blocks)
    yield from _judge_citations(blocks)
    yield from _judge_callers(blocks)
    if not request.get("mcp_servers"):
        yield from _judge_references(blocks, request.get("tools"))
    for path, block in blocks:
        to = block.get("to")
        if block.get("type") == "fallback" and not (is_object(to) and isinstance(to.get("model"), str)):
            yield found("A37", path, "a fallback block names the model that goes on")
    if sendable:
        yield from _judge_size(request, messages)


def _judge_binding(thinking: Json) -> Iterator[Violation]:
    if not is_object(thinking) or "block_binding" not in thinking:
        return
    path, binding = "thinking.block_binding", thinking["block_binding"]
    if thinking.get("type") != "adaptive":
        yield found("A16", path, "Extra inputs are not permitted")
    elif binding is not None and (
        not is_object(binding) or binding.keys() - {_BEHAVIOR} or binding.get(_BEHAVIOR) not in _BEHAVIORS
    ):
        yield found("A16", path, "prefix_mismatch_behavior is error or drop_block")


def _judge_compactions(blocks: Blocks) -> Iterator[Violation]:
    filled = 0
    for place, (path, block) in enumerate(blocks):
        if block.get("type") != "compaction":
            continue
        for key in block.keys() - _COMPACTION:
            yield found("A38", f"{path}.{key}", "Extra inputs are not permitted")
        content = block.get("content")
        if content == "" or not isinstance(content, str | None):
            yield found("A38", f"{path}.content", "a compaction's content is a text that is not empty, or null")
        filled += bool(content)
        if block.get("signature") is not None and place:
            yield found("A38", path, "the `compaction` block is not the first block of the conversation")
        if filled > 1:
            yield found("A38", path, "more than one `compaction` block with content")


def _judge_citations(blocks: Blocks) -> Iterator[Violation]:
    results: set[str] = set()
    cited: set[bool] = set()
    for path, block in blocks:
        kind, content = block.get("type"), block.get("content")
        if kind == "web_search_tool_result" and isinstance(content, list):
            results |= {str(hit.get("url")) for hit in content if is_object(hit)}
        documents = (
            [block, *(part for part in content if is_object(part))] if isinstance(content, list) else [block]
        )
        for document in documents:
            if document.get("type") == "document" and kind in ("document", "tool_result"):
                config = document.get("citations")
                cited.add(is_object(config) and config.get("enabled") is True)
        citations = block.get("citations")
        if kind != "text" or citations is None:
            continue
        for index, citation in enumerate(citations if isinstance(citations, list) else [citations]):
            where = f"{path}.citations.{index}"
            if not is_object(citation) or citation.get("type") != "web_search_result_location":
                yield found("A42", where, "text that goes back cites web search results only")
            elif citation.keys() != _CITATION:
                yield found("A42", where, f"a citation has exactly {', '.join(sorted(_CITATION))}")
            elif str(citation["url"]) not in results:
                yield found("A42", where, "the result that is cited is not in the request")
    if len(cited) > 1:
        yield found("A42", "messages", "citations are on for all documents or for none")


def _judge_references(blocks: Blocks, tools: Json) -> Iterator[Violation]:
    """A31: what a result refers to is a tool of this request."""
    names = [tool.get("name") for tool in tools if is_object(tool)] if isinstance(tools, list) else []
    for path, block in blocks:
        content = block.get("content")
        if block.get("type") != "tool_result" or not isinstance(content, list):
            continue
        for at, part in enumerate(content):
            if is_object(part) and part.get("type") == "tool_reference" and part.get("tool_name") not in names:
                yield found("A31", f"{path}.content.{at}", f"no tool is named {part.get('tool_name')!r}")


def _judge_callers(blocks: Blocks) -> Iterator[Violation]:
    toolsets: dict[str, Json] = {}
    servers: set[str] = set()
    for path, block in blocks:
        kind = block.get("type")
        if kind == "server_tool_use":
            servers.add(str(block.get("id")))
        if kind == "tool_use":
            toolsets[str(block.get("id"))] = block.get("toolset_name")
        elif kind == "tool_result":
            wanted = toolsets.get(str(block.get("tool_use_id")), block.get("toolset_name"))
            if block.get("toolset_name") != wanted:
                yield found("A43", path, f"its call is of the toolset {wanted!r}")
        caller = block.get("caller")
        if kind in ("tool_use", "server_tool_use") and "caller" in block and not _is_caller(caller, servers):
            yield found("A43", f"{path}.caller", "a caller is direct, or a server tool's call in the request")


def _is_caller(caller: Json, servers: set[str]) -> bool:
    if not is_object(caller):
        return False
    if caller.get("type") == "direct":
        return caller.keys() == {"type"}
    return (
        caller.get("type") in _CALLERS and caller.keys() == {"type", "tool_id"} and caller["tool_id"] in servers
    )


def _judge_size(request: Mapping[str, Json], messages: Sequence[Json]) -> Iterator[Violation]:
    if len(messages) > MAX_MESSAGES:
        yield found("A44", "messages", f"{len(messages)} messages are more than {MAX_MESSAGES}")
    size = _size(dict(request))
    if size > MAX_BODY:
        yield found("A44", "body", f"{size} bytes are more than {MAX_BODY}")


def _size(body: JsonObject) -> int:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))

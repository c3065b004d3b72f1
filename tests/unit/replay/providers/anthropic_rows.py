"""Requests to Anthropic by the rule that they break, and good twins (notation of specs/providers.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = Any
MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
OLDER = "claude-opus-4-5"
"""A model that takes manual thinking (S3)."""
OFF = {"thinking": {"type": "disabled"}}
SEARCH = {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}
READ = {"tools": [{"name": "read", "input_schema": {"type": "object"}}]}
FORCED = {"tool_choice": {"type": "any"}}
MCP = (
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "f", "server_name": "s", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": []},
)
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def u(*content: Json) -> dict[str, Json]:
    return {"role": "user", "content": content[0] if _whole(content) else _blocks(content)}


def a(*content: Json) -> dict[str, Json]:
    return {"role": "assistant", "content": content[0] if _whole(content) else _blocks(content)}


def _whole(content: tuple[Json, ...]) -> bool:
    return len(content) == 1 and isinstance(content[0], str | list)


def _blocks(content: tuple[Json, ...]) -> list[Json]:
    return [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]


def x(text: str = "words") -> dict[str, Json]:
    return {"type": "text", "text": text}


def tu(call_id: Json = "1", args: Json = None, name: str = "read") -> dict[str, Json]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if args is None else args}


def tr(call_id: Json = "1", content: Json = "out", **more: Json) -> dict[str, Json]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def th(text: str = "hm", signature: Json = "sig", **more: Json) -> dict[str, Json]:
    return {"type": "thinking", "thinking": text, "signature": signature, **more}


def srv(call_id: str = "srvtoolu_1") -> dict[str, Json]:
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {"query": "q"}}


def hits(call_id: str = "srvtoolu_1") -> dict[str, Json]:
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def cite(url: str = "https://a.example", **more: Json) -> dict[str, Json]:
    where = {"cited_text": "c", "encrypted_index": "e", "title": None, "url": url}
    return {**x(), "citations": [{"type": "web_search_result_location", **where, **more}]}


def compaction(content: Json = "So far.", **more: Json) -> dict[str, Json]:
    return {"type": "compaction", "content": content, **more}


def binding(kind: str, behavior: Json = "drop_block") -> dict[str, Json]:
    return {"thinking": {"type": kind, "block_binding": {"prefix_mismatch_behavior": behavior}}}


HIT = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "e"}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [HIT]}
PDF = {"type": "document", "source": {"type": "url", "url": "https://a.example/b.pdf"}}
FALLBACK = {"type": "fallback", "to": {"model": "claude-opus-5"}}
TH0 = {"type": "thinking", "thinking": "hm"}
REDACTED = {"type": "redacted_thinking", "data": "opaque"}


@dataclass(frozen=True)
class Row:
    """One request; `rules` are the rules that it breaks, none for a good one."""

    name: str
    messages: list[Json]
    rules: frozenset[str] = frozenset()
    extra: dict[str, Json] = field(default_factory=dict)
    model: str = "claude-opus-5-5"
    sendable: bool = True
    original: list[list[Json]] | None = None

    @property
    def request(self) -> dict[str, Json]:
        return {"model": self.model, **self.extra, "messages": self.messages}


def bad(rules: str, name: str, *messages: Json, **more: Json) -> Row:
    return Row(f"{rules}: {name}", list(messages), frozenset(rules.split("+")), **more)


def good(rules: str, name: str, *messages: Json, **more: Json) -> Row:
    """A request that breaks nothing; `rules` are those that it comes close to."""
    return Row(f"{rules}: {name}", list(messages), **more)


BAD = [
    bad("A1", "text instead of a result", u("q"), a(tu()), u("x")),
    bad("A1", "text before the result", u("q"), a(tu()), u("x", tr())),
    bad("A1", "text between two results", u("q"), a(tu("1"), tu("2")), u(tr("1"), "x"), u(tr("2"))),
    bad("A1", "a plain string ends the run", u("q"), a(tu("1"), tu("2")), u(tr("1")), u("x"), u(tr("2"))),
    bad("A1", "the next step came first", u("q"), a(tu("1")), u("x"), a("y"), u("z")),
    bad("A1+A9", "a call at the end", u("q"), a(tu())),
    bad("A1", "an open call amid a prefix", u("q"), a(tu()), u("x"), a("y"), u("z"), sendable=False),
    bad("A2", "a result of nothing", u(tr("9"))),
    bad("A2", "a result again, two messages later", u("q"), a(tu()), u(tr()), a("x"), u(tr())),
    bad("A2", "a result beside another's", u("q"), a(tu()), u(tr("1"), tr("9"))),
    bad("A3", "two results", u("q"), a(tu()), u(tr(), tr(content="again"))),
    bad("A3", "two results in two messages", u("q"), a(tu()), u(tr()), u("x", tr())),
    bad("A4", "an id in two steps", u("q"), a(tu()), u(tr()), a(tu()), u(tr())),
    bad("A5", "an id of the Responses format", u("q"), a(tu("call|fc:1")), u(tr("call|fc:1"))),
    bad("A5", "an empty id", u("q"), a(tu("")), u(tr(""))),
    bad("A5", "a newline at the end of an id", u("q"), a(tu("1\n")), u(tr("1\n"))),
    bad("A5", "a client's id on a server tool", u("q"), a(srv("1"), hits("1"), "x"), u("y"), extra=SEARCH),
    bad("A6", "arguments in a string", u("q"), a(tu(args='{"a":')), u(tr())),
    bad("A6", "arguments in a list", u("q"), a(tu(args=[1])), u(tr())),
    bad("A6", "null arguments", u("q"), a({**tu(), "input": None}), u(tr())),
    bad("A7", "the assistant first", a("x"), u("q")),
    bad("A9", "the assistant last", u("q"), a("x")),
    bad("A10", "an empty text beside a call", u("q"), a("", tu()), u(tr())),
    bad("A10", "an empty text of the user", u("q", "")),
    bad("A10", "an empty text in a result", u("q"), a(tu()), u(tr(content=[x("")]))),
    bad("A10", "an empty system block", u("q"), extra={"system": [x("")]}),
    bad("A11", "a newline", u("q"), a([x("\n")]), u("y")),
    bad("A11", "a blank string", u(" \t")),
    bad("A11b", "an empty string of the user", u("q"), a("x"), u("")),
    bad("A11b", "no blocks of the user", u([]), a("x"), u("y")),
    bad("A9+A11c", "a blank at the end", u("q"), a([x("x ")])),
    bad("A11d", "an empty message, old model", u("q"), a([]), u("y"), model="claude-3-haiku-20240307"),
    bad("A20", "no signature", u("q"), a(TH0, tu()), u(tr())),
    bad("A20", "an empty signature", u("q"), a(th("", "")), u("y")),
    bad("A20", "a null signature", u("q"), a(th("hm", None), "x"), u("y")),
    bad("A20", "redacted without data", u("q"), a({"type": "redacted_thinking", "data": ""}, "x"), u("y")),
    bad(
        "A13+A22",
        "thinking between others left out",
        u("q"),
        a(th("2", "s2"), tu()),
        u(tr()),
        original=[[th("1", "s1"), x("x"), th("2", "s2"), tu()]],
    ),
    bad("A21", "no response's", u("q"), a(th("1", "s9"), "x"), u("y"), original=[[th("1", "s1"), x("x")]]),
    bad(
        "A21",
        "an altered text",
        u("q"),
        a(th("one", "s1"), "x"),
        u("y"),
        a("z"),
        u("w"),
        original=[[th("1", "s1"), x("x")], [x("z")]],
    ),
    bad("A22", "an altered text", u("q"), a(th("1 ", "s1"), tu()), u(tr()), original=[[th("1", "s1"), tu()]]),
    bad(
        "A22",
        "a part left out",
        u("q"),
        a(th("1", "s1"), tu()),
        u(tr()),
        original=[[th("1", "s1"), REDACTED, tu()]],
    ),
    bad(
        "A22",
        "another order",
        u("q"),
        a(th("2", "s2"), th("1", "s1"), tu()),
        u(tr()),
        original=[[th("1", "s1"), th("2", "s2"), tu()]],
    ),
    bad(
        "A23",
        "the text between left out",
        u("q"),
        a(th("1", "s1"), th("2", "s2"), tu()),
        u(tr()),
        original=[[th("1", "s1"), x(""), th("2", "s2"), tu()]],
    ),
    bad("A24", "a call first", u("q"), a(tu()), u(tr()), extra=MANUAL, model=OLDER),
    bad(
        "A24",
        "a call first in the second turn",
        u("q"),
        a(th(), "x"),
        u("q"),
        a(tu()),
        u(tr()),
        extra=MANUAL,
        model=OLDER,
    ),
    bad("A25", "text before thinking", u("q"), a("x", th(), "z"), u("y"), extra=MANUAL, model=OLDER),
    bad("A9+A26", "thinking at the end", u("q"), a(th())),
    bad("A9+A26", "redacted thinking at the end", u("q"), a("x", REDACTED)),
    bad("A27", "a forced tool beside manual thinking", u("q"), extra={**READ, **MANUAL, **FORCED}, model=OLDER),
    bad("A27", "a forced tool for a new model", u("q"), extra={**READ, **FORCED}, model="claude-opus-5-5"),
    bad("A27", "a choice without tools", u("q"), extra={"tool_choice": {"type": "auto"}}),
    bad(
        "A27", "a tool that is not there", u("q"), extra={**READ, "tool_choice": {"type": "tool", "name": "x"}}
    ),
    bad("A27", "no choice at all", u("q"), extra={**READ, "tool_choice": "any"}),
    bad("A16", "beside manual thinking", u("q"), extra=binding("enabled"), model="claude-opus-4-5"),
    bad("A16", "another word", u("q"), extra=binding("adaptive", "drop")),
    bad("A16", "no object", u("q"), extra={"thinking": {"type": "adaptive", "block_binding": "error"}}),
    bad("A37", "nobody goes on", u("q"), a("x", {"type": "fallback"}, "y"), u("z")),
    bad("A38", "no content", a(compaction("")), u("q")),
    bad("A38", "a list as content", a(compaction([x()])), u("q")),
    bad("A38", "an unknown key", a(compaction(index=0)), u("q")),
    bad("A38", "a signed one amid the history", u("q"), a(compaction(signature="s"), "x"), u("y")),
    bad("A38", "two with content", a(compaction()), u("q"), a(compaction("More.")), u("y")),
    bad("A42", "a citation of a document", u("q"), a(cite(type="char_location")), u("y")),
    bad(
        "A42",
        "no encrypted index",
        u("q"),
        a({**x(), "citations": [{**cite()["citations"][0], "index": 0}]}),
        u("y"),
    ),
    bad("A42", "no list", u("q"), a({**x(), "citations": "none"}), u("y")),
    bad(
        "A42",
        "of a result that is not there",
        u("q"),
        a(srv(), FOUND, cite("https://b.example")),
        u("y"),
        extra=SEARCH,
    ),
    bad("A42", "one document with, one without", u(PDF, {**PDF, "citations": {"enabled": True}})),
    bad("A43", "a result outside its toolset", u("q"), a({**tu(), "toolset_name": "set"}), u(tr())),
    bad("A43", "a result of a toolset that its call is not of", u("q"), a(tu()), u(tr(toolset_name="set"))),
    bad(
        "A43",
        "a caller that is not there",
        u("q"),
        a({**tu(), "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_9"}}),
        u(tr()),
    ),
    bad("A43", "a caller of no type", u("q"), a({**tu(), "caller": None}), u(tr())),
    bad("A44", "too many messages", *[u("q")] * 100_001),
    bad("A44", "too large a body", u("x" * (32 * 1024 * 1024))),
    bad("A29", "a cache point on thinking", u("q"), a(th(cache_control={"type": "ephemeral"}), "x"), u("y")),
    bad("A29", "thinking of the user", u("q", th())),
    bad("A30", "an image in an error", u("q"), a(tu()), u(tr(content=[x(), PNG], is_error=True))),
    bad("A31", "an object as content", u("q"), a(tu()), u(tr(content={"a": 1}))),
    bad("A31", "a call in a result", u("q"), a(tu()), u(tr(content=[tu("2")]))),
    bad("A32", "a server call without a result", u("q"), a(srv(), "x"), u("y"), extra=SEARCH),
    bad("A32", "a server result without a call", u("q"), a(hits(), "x"), u("y"), extra=SEARCH),
    bad("A32", "no result in the next message", u("q"), a(srv(), tu()), u(tr()), a("x"), u("y"), extra=SEARCH),
    bad("A33", "the tool is not declared", u("q"), a(srv(), hits(), "x"), u("y")),
    bad("A34", "after the assistant", u("q"), a("x"), {"role": "system", "content": "s"}, u("y")),
    bad("A34", "first", {"role": "system", "content": "s"}, u("y")),
    bad("A40", "five cache points", u(*[{**x(), "cache_control": {"type": "ephemeral"}} for _ in range(5)])),
    bad("A41", "an unknown role", u("q"), {"role": "tool", "content": "x"}, u("y")),
    bad("A41", "an unknown block type", u({"type": "video", "data": "x"})),
    bad("A41", "a key of the response", u("q"), a({**x(), "parsed_output": None}), u("y")),
    bad("A41", "a call of the user", u("q", tu("2")), a("x"), u("y")),
    bad("A41", "a text that is a number", u({"type": "text", "text": 5})),
    bad("A41", "content that is null", u("q"), {"role": "assistant", "content": None}, u("y")),
    bad(
        "A41",
        "an image of a type that is not taken",
        u({**PNG, "source": {**PNG["source"], "media_type": "image/tiff"}}),
    ),
    bad("A41", "a tool name with a blank", u("q"), a(tu(name="read file")), u(tr())),
    bad("A41", "no messages"),
    bad("A41", "data that is no base64", u({**PNG, "source": {**PNG["source"], "data": "not base64!"}})),
    bad("A41", "tools by name", u("q"), extra={"tools": {"read": {}}}),
    bad("A41", "two tools of a name", u("q"), extra={"tools": READ["tools"] * 2}),
    bad("A41", "a defined name with a blank", u("q"), extra={"tools": [{**READ["tools"][0], "name": "a b"}]}),
    bad("A41", "a tool without a schema", u("q"), extra={"tools": [{"name": "read"}]}),
    bad("A41", "another provider's tool", u("q"), extra={"tools": [{"type": "provider", "name": "f"}]}),
    bad(
        "A31",
        "a reference to no tool",
        u("q"),
        a(tu()),
        u(tr(content=[{"type": "tool_reference", "tool_name": "gone"}])),
        extra=READ,
    ),
    bad("A33", "a call of no server", u("q"), a(*MCP, "x"), u("y")),
    bad("S3", "manual thinking on a model without", u("q"), extra=MANUAL, model="claude-opus-4-7"),
    bad("S3", "no thinking on a model that always does", u("q"), extra=OFF, model="claude-fable-5-1"),
    bad("S1", "half a character", u("\ud83d")),
    bad("S1", "half a character in arguments", u("q"), a(tu(args={"a": ["\udc00"]})), u(tr())),
    bad("S1", "half a character in the system prompt", u("q"), extra={"system": "\ud83d"}),
]

GOOD = [
    good("A1+A2+A3", "a tool turn", u("q"), a(tu()), u(tr())),
    good("A1", "results in another order", u("q"), a(tu("1"), tu("2")), u(tr("2"), tr("1"))),
    good("A1", "results over two user messages", u("q"), a(tu("1"), tu("2")), u(tr("2")), u(tr("1"), "x")),
    good("A1", "text after the results", u("q"), a(tu()), u(tr(), "x")),
    good("A1", "calls of two neighbours", u("q"), a(tu("1")), a(tu("2")), u(tr("1"), tr("2"))),
    good("A1+A9+X8", "an open call at the end of a prefix", u("q"), a(tu()), sendable=False),
    good(
        "A1+X8",
        "a call half open at the end of a prefix",
        u("q"),
        a(tu("1"), tu("2")),
        u(tr("1")),
        sendable=False,
    ),
    good("A4", "ids that differ in case", u("q"), a(tu("a")), u(tr("a")), a(tu("A")), u(tr("A"))),
    good("A5", "the whole alphabet", u("q"), a(tu("azAZ09_-")), u(tr("azAZ09_-"))),
    good("A6", "nested arguments", u("q"), a(tu(args={"a": [1, {"b": None}]})), u(tr())),
    good("A7", "the user first", u("q"), a("x"), u("y")),
    good("A8", "two of the user", u("q"), u("y")),
    good("A8", "three of the user", u("q"), u("y"), u("z")),
    good("A8", "two of the assistant", u("q"), a("x"), a("y"), u("z")),
    good("A9+A11c+A26+X8", "a prefix may end with the assistant", u("q"), a("x "), sendable=False),
    good("A9+A35", "a turn that paused", u("q"), a("x", srv()), extra=SEARCH),
    good("A10+A11", "white space beside words", u("q\n"), a(" x"), u("\ny")),
    good("A11b", "an empty string of the assistant", u("q"), a(""), u("y")),
    good("A11b+A11d", "no blocks of the assistant", u("q"), a([]), u("y")),
    good("A11c", "a blank at the end of an earlier text", u("q"), a("x "), u("y")),
    good("A11d", "old model, all filled", u("q"), a("x"), u("y"), model="claude-3-haiku-20240307"),
    good("A20+A17", "signed thinking with empty text", u("q"), a(th(""), tu()), u(tr())),
    good("A20", "redacted thinking", u("q"), a(REDACTED, tu()), u(tr())),
    good(
        "A13+A21+A22+A23",
        "thinking as it came",
        u("q"),
        a(th("1", "s1"), "x", th("2", "s2"), tu()),
        u(tr()),
        original=[[th("1", "s1"), x("x"), th("2", "s2"), tu()]],
    ),
    good(
        "A22", "all thinking of the turn left out", u("q"), a(tu()), u(tr()), original=[[th("1", "s1"), tu()]]
    ),
    good(
        "A13+A22",
        "a suffix left out of an earlier turn",
        u("q"),
        a(th("1", "s1"), "x"),
        u("y"),
        a("z"),
        u("w"),
        original=[[th("1", "s1"), x("x"), th("2", "s2")], [x("z")]],
    ),
    good(
        "A23",
        "two thinkings that were neighbours",
        u("q"),
        a(th("1", "s1"), th("2", "s2"), "x"),
        u("y"),
        original=[[th("1", "s1"), th("2", "s2"), x("x")]],
    ),
    good("A24", "thinking first", u("q"), a(th(), tu()), u(tr()), extra=MANUAL, model=OLDER),
    good(
        "A24",
        "no thinking in a later step",
        u("q"),
        a(th(), tu()),
        u(tr()),
        a(tu("2")),
        u(tr("2")),
        extra=MANUAL,
        model=OLDER,
    ),
    good("A24", "no tool loop is open", u("q"), a("x"), u("y"), extra=MANUAL, model=OLDER),
    good("A24", "thinking is adaptive", u("q"), a(tu()), u(tr()), extra={"thinking": {"type": "adaptive"}}),
    good(
        "A25",
        "thinking is adaptive",
        u("q"),
        a("x", th(), "z"),
        u("y"),
        extra={"thinking": {"type": "adaptive"}},
    ),
    good("A25", "thinking first", u("q"), a(th(), "x", th(), "z"), u("y"), extra=MANUAL, model=OLDER),
    good("A26", "thinking alone amid the history", u("q"), a(th()), u("y")),
    good("A26", "a thinking tail amid the history", u("q"), a("x", th()), u("y")),
    good("A27", "a forced tool, no thinking", u("q"), extra={**READ, **FORCED}, model="claude-opus-4-5"),
    good(
        "A27", "a free choice", u("q"), extra={**READ, **MANUAL, "tool_choice": {"type": "auto"}}, model=OLDER
    ),
    good("A16", "beside adaptive thinking", u("q"), extra=binding("adaptive")),
    good("A16", "every default", u("q"), extra={"thinking": {"type": "adaptive", "block_binding": {}}}),
    good("A37+A23", "a seam in its place", u("q"), a(th("1", "s1"), FALLBACK, th("2", "s2"), "x"), u("y")),
    good("A38+A7", "a signed one first", a(compaction(signature="s"), "x"), u("q")),
    good("A38+A9", "at the end: it paused", u("q"), a(compaction())),
    good("A38", "a failed one", u("q"), a(compaction(None), "x"), u("y")),
    good("A42", "a search result", u("q"), a(srv(), FOUND, cite()), u("y"), extra=SEARCH),
    good(
        "A42",
        "all documents",
        u({**PDF, "citations": {"enabled": True}}),
        a("x"),
        u({**PDF, "citations": {"enabled": True}}),
    ),
    good("A43", "a toolset", u("q"), a({**tu(), "toolset_name": "set"}), u(tr(toolset_name="set"))),
    good("A43", "called directly", u("q"), a({**tu(), "caller": {"type": "direct"}}), u(tr())),
    good("A44", "a hundred thousand messages", *[u("q")] * 100_000),
    good("A44+X8", "a prefix that is too long", *[u("q")] * 100_001, sendable=False),
    good("A29", "a cache point on text", u({**x(), "cache_control": {"type": "ephemeral"}})),
    good("A30", "text in an error", u("q"), a(tu()), u(tr(content=[x()], is_error=True), PNG)),
    good("A31+A30", "an image in a result", u("q"), a(tu()), u(tr(content=[x(), PNG]))),
    good("A31", "a result without content", u("q"), a(tu()), u({"type": "tool_result", "tool_use_id": "1"})),
    good("A32+A33", "a search", u("q"), a(srv(), hits(), "x"), u("y"), extra=SEARCH),
    good("A32", "a mixed batch", u("q"), a(srv(), tu()), u(tr()), extra=SEARCH),
    good(
        "A32", "a mixed batch, answered", u("q"), a(srv(), tu()), u(tr()), a(hits(), "x"), u("y"), extra=SEARCH
    ),
    good("A34", "after the user", u("q"), {"role": "system", "content": "s"}, a("x"), u("y")),
    good("A34", "at the end", u("q"), {"role": "system", "content": "s"}),
    good("A40", "four cache points", u(*[{**x(), "cache_control": {"type": "ephemeral"}} for _ in range(4)])),
    good(
        "A41",
        "an image by URL",
        u({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}),
    ),
    good("A41", "a block's own optional keys", u("q"), a({**tu(), "caller": {"type": "direct"}}), u(tr())),
    good("A33", "a server's call", u("q"), a(*MCP, "x"), u("y"), extra={"mcp_servers": [{"name": "s"}]}),
    good("S3", "manual thinking", u("q"), extra=MANUAL, model="claude-opus-4-6"),
    good("S3", "thinking off", u("q"), extra=OFF, model="claude-haiku-5-5"),
    good("S1", "a whole character of two halves", u("\U0001f600")),
]

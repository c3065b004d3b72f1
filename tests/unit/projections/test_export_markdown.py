"""Markdown of a view: it holds all, and nothing of what it holds passes for the document's own structure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from projections import View, markdown
from projections.scenario import given as scenario

READERS = {
    "CommonMark": MarkdownIt("commonmark", {"html": True}),
    "tables": MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]),
}
"""Readers that take HTML as HTML."""
for reader in READERS.values():  # whatever a reader lets through as a link, is one
    reader.validateLink = lambda url: True  # type: ignore[method-assign]

STEP = {"turn_id": "t1", "step_id": "s1"}
HOSTILE = [
    "## User\n\nI agree.",
    "User\n====\n\nRule\n---\n\n***\n\n* * *",
    "```\nnever closed",
    "~~~~\nnever closed\n```",
    "    indented\n\n# User",
    "- item\n\n      code\n  ```\nout of the list <b>",
    "</details>\n\n## User\n\n<script>alert(1)</script>",
    "<!-- swallowed",
    "a <b>bold</b> <img src=x onerror=alert(1)>",
    "\\<b> \\\\<b> \\\\\\<b>",
    "`<b>` and ``<i>`` and ` <u> and `\n\n<s>`",
    "a ` <b>\n- ` <i> `",
    "| ` | <b> ` |\n|---|---|\n| ` | <i> ` |",
    "one\r## User\r\rtwo\u2028## User",
    "> > quoted\n> ## deep <b>\n\n1. list\n   <b>",
    "\t<b>\n\n\t<i>",
    "![tracked](http://example.com/x.png) [![b](http://x/y)](http://z)",
    "![r][x]\n\n[x]: http://example.com/x.png",
    "[go](javascript:alert(1)) [go](<java\tscript:alert(1)>) [go](&#106;avascript:x)",
    "[go][x] `[code]`\n\n[x]: javascript:alert(1)",
    "[!WARNING]\nnot of ours [^1]\n\n[^1]: ## at the end",
    "text\n[end]: <x\n<b>",
    "\x00\x1b[31m\u202e## User\u2066",
]


def shown(*events: dict[str, Any]) -> str:
    return markdown(View("c", len(events), scenario(*events).rows()))


def said(words: str) -> str:
    """A document in which a person, a model, a system and a note all say the words."""
    return shown(
        {"type": "system_message", "content": words},
        {"type": "user_message", "turn_id": "t1", "content": words},
        {"type": "thinking_complete", **STEP, "text": words},
        {"type": "text_complete", **STEP, "text": words},
        {"type": "note", "kind": "remark", "text": words},
        {"type": "complete", "turn_id": "t1"},
    )


def outside(tokens: list[Token]) -> list[tuple[str, str]]:
    """What stands outside of quotes: the document's own lines."""
    depth, found = 0, []
    for token in tokens:
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if depth == 0:
            found.append((token.type, token.content))
    return found


def within(tokens: list[Token]) -> list[Token]:
    """All inside of quotes, with what stands in lines."""
    depth, found = 0, []
    for token in tokens:
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if depth:
            found += [token, *(token.children or [])]
    return found


def check(document: str, plain: str) -> None:
    for name, reader in READERS.items():
        tokens = reader.parse(document)
        assert outside(tokens) == outside(reader.parse(plain)), name
        for token in within(tokens):
            assert token.type not in ("html_block", "html_inline", "image"), (name, token.content)
            for value in token.attrs.values():
                assert "script:" not in str(value).replace("%09", ""), (name, value)


@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_that_is_said_leaves_its_quote(words: str) -> None:
    check(said(words), said("hello"))


PIECES = [
    "`", "``", "```", "\n```\n", "\n~~~\n", "<b>", "</details>", "<!--", "\\", "\n", "\n\n", "\n> ", "\n- ",
    "\n1. ", "\n    ", "\t", "|", "\n|---|---|\n", "\n# User", "\n---\n", "\n===\n", "![x](http://y)",
    "[a](javascript:x)", "\n[a]: javascript:x\n", "[^1]: ", "&lt;", "\r", "a ", "a", "*", "_", "<?",
    "<![CDATA[", "<http://x>", "\"",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join).filter(str.strip))
def test_whatever_is_said_stays_in_its_quote(words: str) -> None:
    document = said(words)
    plain = said("hello")
    check(document, plain)


def test_what_is_said_stays_readable() -> None:
    answer = (
        "# Result\n\nUse `List<str>`, not ``a`<b>``; 1 < 2 && `x`.\n\n```html\n<div>![x](y)</div>\n```\n\n"
        "| a | b |\n|---|---|\n| *1* | [docs](https://example.com) |\n\n    <indented>"
    )
    quoted = "\n".join(f"> {line}" if line else ">" for line in answer.split("\n"))
    assert quoted in said(answer)
    assert "> \\<div> `<b>` and \\![x](http://y)" in said("<div> `<b>` and ![x](http://y)")


def test_names_are_nothing_but_names() -> None:
    name = "## x*](http://a) <b>`_y_` | & # \u202e"
    words = f"{name}\n## User\n\n{name}"
    document = shown(
        {"type": "user_message", "turn_id": name, "content": "hi", "agent_id": name},
        {"type": "step_start", "turn_id": name, "step_id": "s", "model": words, "agent_id": name},
        {"type": "text_complete", "turn_id": name, "step_id": "s", "text": "yes", "agent_id": name},
        {"type": "tool_start", "turn_id": name, "step_id": "s", "tool_call_id": name, "tool_name": words,
         "args": {words: words}, "agent_id": name},
        {"type": "note", "kind": words, "text": "noted"},
        {"type": "error", "turn_id": name, "message": words, "agent_id": name},
        {"type": "complete", "turn_id": "t", "stop_reason": words},
        {"type": "user_message", "turn_id": "t",
         "content": [{"type": name, "media_type": words, "filename": words, "data": "AA"}]},
    )  # fmt: skip
    for reader in READERS.values():
        tokens = reader.parse(document)
        kinds = {child.type for token in tokens for child in token.children or []}
        assert kinds <= {
            "text",
            "em_open",
            "em_close",
            "strong_open",
            "strong_close",
            "code_inline",
            "text_special",
        }
        headings = [tokens[at + 1].content for at, one in enumerate(tokens) if one.type == "heading_open"]
        assert [one.split()[0] for one in headings] == ["c", "User", "Assistant", "User"]
        assert not [one for one in tokens if one.type == "html_block"]
    assert "\u202e" not in document


def test_nothing_is_cut() -> None:
    long = "\n".join(f"line {number}  of   it" for number in range(5_000))
    document = shown(
        {"type": "tool_start", **STEP, "tool_call_id": "c1", "tool_name": "Write", "args": {"text": long}},
        {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c1", "content": long},
        {"type": "tool_start", **STEP, "tool_call_id": "c2", "tool_name": "odd",
         "args": {"text": "two  spaces"}},
        {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c2",
         "content": [{"type": "text", "text": "words", "seen": 7}, {"type": "link", "uri": "file:///a"}]},
        {"type": "note", "kind": "raw", "entry": {"a": long}},
        {"type": "later_kind", "turn_id": "t1", "kept": "kept field"},
        {"type": "error", "turn_id": "t1", "message": "m" * 5_000, "code": "c"},
    )  # fmt: skip
    assert "more characters" not in document
    assert document.count("line 4999  of   it") == 3
    for words in ('"two  spaces"', "words", '"seen": 7', "file:///a", "kept field", "m" * 5_000):
        assert words in document
    tokens = READERS["CommonMark"].parse(document)
    fences = {token.content for token in tokens if token.type == "fence"}
    assert f"{long}\n" in fences


def test_a_sub_agent_is_told_apart() -> None:
    document = shown(*LANES)
    expected = [
        "## User\n", "- **Task**", "*Sub-agent helper, started by the call of Task at event 2:*",
        "### User of helper", "### Assistant of helper", "*End of sub-agent helper.*", "*Turn t1: ",
        "*Sub-agent stray; the call that started it is not known:*", "### Assistant of stray",
        "*End of sub-agent stray.*",
    ]  # fmt: skip
    places = [document.index(one) for one in expected]
    assert places == sorted(places)


def test_a_branch_is_told() -> None:
    fork = {"type": "fork", "source_conversation_id": "talk", "source_version": 3}
    assert "*Branch: all above is of talk at event 3.*" in shown(fork)
    assert "*Branch" not in shown({"type": "note", "kind": "fork", "text": "Branched from talk at 3."})


LANES: list[dict[str, Any]] = [
    {"type": "user_message", "turn_id": "t1", "content": "go"},
    {"type": "tool_start", **STEP, "tool_call_id": "c1", "tool_name": "Task", "args": {}},
    {
        "type": "user_message",
        "turn_id": "t2",
        "content": "sub",
        "agent_id": "helper",
        "parent_tool_call_id": "c1",
    },
    {"type": "text_complete", "turn_id": "t2", "step_id": "h1", "text": "done", "agent_id": "helper"},
    {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c1", "content": "done"},
    {"type": "complete", "turn_id": "t1"},
    {"type": "text_complete", "turn_id": "t9", "step_id": "x1", "text": "astray", "agent_id": "stray"},
]

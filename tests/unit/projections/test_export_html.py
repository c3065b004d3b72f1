"""The page of a view: it holds all, its anchors stay, sub-agents stand under calls, nothing in it acts."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from projections import Pause, View, html
from projections.scenario import given
from tests.unit.projections.test_export_markdown import LANES

HOSTILE = (
    "\"'><script>alert(1)</script></pre></title></style><img src=x onerror=alert(1)>{{ 7*7 }}\u202ejavascript:"
)
STEP = {"turn_id": HOSTILE, "step_id": HOSTILE}
ALLOWED = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"}, "title": set(),
    "style": set(), "body": set(), "header": set(), "h1": set(), "h2": set(), "small": {"dir"}, "main": set(),
    "article": {"id", "class"}, "a": {"href"}, "bdi": set(), "div": {"class", "dir"}, "pre": {"dir"},
    "details": {"class", "open"}, "summary": set(), "img": {"alt", "src"}, "footer": set(),
}  # fmt: skip


class Page(HTMLParser):
    """The elements of a page: tag, attributes, and the elements that it stands in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.found.append((tag, known, tuple(self._open)))
        if tag not in ("meta", "img"):
            self._open.append(known.get("id") or known.get("class") or tag if tag != "style" else tag)
            self._tags = [*getattr(self, "_tags", []), tag]

    def handle_endtag(self, tag: str) -> None:
        assert self._tags[-1] == tag
        self._tags.pop()
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page(*events: dict[str, Any], pause: Pause | None = None, name: str = "c") -> str:
    return html(View(name, len(events), given(*events).rows(), pause))


def everywhere() -> list[dict[str, Any]]:
    """Events that hold hostile text wherever anybody may write."""
    lane = {"agent_id": HOSTILE, "parent_tool_call_id": HOSTILE}
    image = {"type": HOSTILE, "media_type": "image/png", "data": 'AA" onerror="alert(1)'}
    return [
        {"type": "fork", "source_conversation_id": HOSTILE, "source_version": 1},
        {"type": "system_message", "content": HOSTILE, "at": "2026-01-01T00:00:00Z"},
        {"type": "context", "digest": HOSTILE, "system": HOSTILE},
        {"type": "user_message", "turn_id": HOSTILE, "message_id": HOSTILE, "content": [
            {"type": "text", "text": HOSTILE, HOSTILE: HOSTILE}, image, {**image, "media_type": [HOSTILE]},
            {**image, "media_type": HOSTILE, "filename": HOSTILE}, {"type": "image", "url": HOSTILE},
            {"type": "image", "media_type": "image/svg+xml", "data": "AAAA"},
            {"type": "image", "source": {"media_type": "image/png", "data": "iVBORw0KGgo="}},
        ]},
        {"type": "step_start", **STEP, "provider": HOSTILE, "api": HOSTILE, "model": HOSTILE},
        {"type": "thinking_complete", **STEP, "text": HOSTILE, "signature": HOSTILE},
        {"type": "text_complete", **STEP, "text": HOSTILE},
        {"type": "tool_start", **STEP, "tool_call_id": HOSTILE, "tool_name": HOSTILE,
         "args": {HOSTILE: HOSTILE}},
        {"type": "tool_approval", "turn_id": HOSTILE, "tool_call_id": HOSTILE, "decision": "approved",
         "by": HOSTILE, "args": HOSTILE},
        {"type": "user_message", "turn_id": "sub", "content": HOSTILE, **lane},
        {"type": "tool_start", "turn_id": "sub", "step_id": "x", "tool_call_id": "y", "tool_name": HOSTILE,
         "args": HOSTILE, **lane},
        {"type": "tool_result", "turn_id": HOSTILE, "tool_call_id": HOSTILE, "content": [image, {HOSTILE: 1}]},
        {"type": "tool_result", "turn_id": HOSTILE, "tool_call_id": "z", "tool_name": HOSTILE,
         "content": HOSTILE},
        {"type": "token_usage", **STEP, "usage": {HOSTILE: 7, "input": 1}},
        {"type": "error", "turn_id": HOSTILE, "message": HOSTILE, "code": HOSTILE, "reason": HOSTILE},
        {"type": "complete", "turn_id": "other", "stop_reason": HOSTILE},
        {"type": "note", "kind": HOSTILE, "text": HOSTILE},
        {"type": "note", "kind": HOSTILE, HOSTILE: HOSTILE},
        {"type": HOSTILE[:60], "turn_id": HOSTILE, HOSTILE: HOSTILE},
        {"type": "compaction", "summary": HOSTILE, "through_version": 2},
    ]  # fmt: skip


def test_nothing_in_any_field_acts() -> None:
    text = page(*everywhere(), pause=Pause(9, HOSTILE, HOSTILE), name=HOSTILE)
    found = Page(text).found
    ids = [known["id"] for _, known, _ in found if "id" in known]
    assert len(ids) == len(set(ids)) > 10
    for tag, known, _ in found:
        assert set(known) <= ALLOWED[tag], (tag, known)
        if tag == "a":
            assert (known["href"] or "")[1:] in ids
        if tag == "img":
            assert known["src"] == "data:image/png;base64,iVBORw0KGgo="
    assert sum(tag == "img" for tag, _, _ in found) == 1
    assert "\u202e" not in text
    assert "{{ 7*7 }}" in text
    assert "default-src 'none'" in text


def test_nothing_is_cut() -> None:
    long = "\n".join(f"line {number}  of   it" for number in range(20_000))
    step = {"turn_id": "t1", "step_id": "s1"}
    text = page(
        {"type": "tool_start", **step, "tool_call_id": "c1", "tool_name": "Write", "args": long},
        {"type": "tool_result", "turn_id": "t1", "tool_call_id": "c1", "content": long},
        {"type": "error", "turn_id": "t1", "message": "m" * 5_000},
    )
    said = Page(text).words
    assert sum(one.strip("\n") == long for one in said) == 2
    assert f"result, {len(long):,} characters" in said
    assert any("m" * 5_000 in one for one in said)


def test_anchors_stay_when_the_conversation_goes_on() -> None:
    def anchors(events: list[dict[str, Any]]) -> set[str]:
        return {str(known["id"]) for _, known, _ in Page(page(*events)).found if "id" in known}

    before = anchors(LANES[:4])
    assert {"user-1", "tool-2", "user-3", "assistant-4"} <= before
    assert before <= anchors(LANES)


def test_a_sub_agent_is_folded_below_its_call() -> None:
    found = Page(page(*LANES)).found
    inside = {known["id"]: "lane" in path for _, known, path in found if "id" in known}
    assert inside == {
        "user-1": False, "tool-2": False, "user-3": True, "assistant-4": True, "turn-3": True, "turn-1": False,
        "assistant-7": True, "turn-7": True,
    }  # fmt: skip
    text = page(*LANES)
    places = [text.index(f'id="{one}"') for one in ("tool-2", "user-3", "turn-1", "assistant-7")]
    assert places == sorted(places)
    assert text.count('<details class="lane">') == 2
    assert "<bdi>stray</bdi>, 2 rows, started by a call that is not known" in text


def test_sub_agents_of_sub_agents() -> None:
    deep: list[dict[str, Any]] = []
    for number in range(10):
        agent: dict[str, Any] = (
            {"agent_id": f"a{number}", "parent_tool_call_id": f"c{number - 1}"} if number else {}
        )
        deep.append(
            {"type": "tool_start", "turn_id": f"t{number}", "step_id": "s", "tool_call_id": f"c{number}",
             "tool_name": "Task", "args": {}, **agent}
        )  # fmt: skip
    paths = {known["id"]: path for _, known, path in Page(page(*deep)).found if "id" in known}
    assert paths["tool-10"].count("lane") == 9
    assert paths["turn-1"].count("lane") == 0

"""What was said, as a Markdown quote that nothing in it can leave (docs/exporting.md).

Every line stands behind `> `: headings, rules, lists and fences of a message are those of its quote, and an
open fence ends with it. What acts beyond a quote is escaped where it is not code: tags of HTML, pictures (they
would be loaded), footnotes and GitHub's alerts, links that run a script.
"""

from __future__ import annotations

import functools
import html
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt

LONGEST = 1_000_000
"""Characters of a text whose code is looked for; in a longer one code is escaped too."""

_ACTS = re.compile(r"(?<!\\)(\\*)(<(?=[A-Za-z/!?])|!(?=\[)|\[(?=[!^]))")
_BRACKETS = re.compile(r"(?<!\\)(\\*)(<(?=[A-Za-z/!?])|\[)")
_SCRIPT = re.compile(r"(?:java|vb)script:", re.IGNORECASE)
_NO_SCHEME = re.compile(r"[\s\\\x00-\x20]+")
_TICKS = re.compile(r"\\.|(`+)", re.DOTALL)
_MARKS = re.compile(r"[\\`*\[\]<>&|~!#$]|(?<![^\W_])_|_(?![^\W_])")


def quoted(text: str) -> str:
    """The text (`lines.plain`) as a quote."""
    lines = [f"> {line}" if line else ">" for line in text.split("\n")]
    acts = _BRACKETS if "[" in text and _SCRIPT.search(_NO_SCHEME.sub("", html.unescape(text))) else _ACTS
    if not acts.search(text):
        return "\n".join(lines)
    code: set[int] = set()  # lines that are code as a whole
    spans: dict[int, list[tuple[int, int]]] = {}
    if len(text) <= LONGEST:
        for token in _parser().parse("\n".join(lines)):
            if token.map is None:
                continue
            if token.type in ("fence", "code_block"):
                code.update(range(*token.map))
            elif token.type == "inline":
                spans.update(_spans(lines, *token.map))
    return "\n".join(
        line if number in code else _escaped(line, acts, spans.get(number, ()))
        for number, line in enumerate(lines)
    )


def fenced(text: str, language: str = "") -> str:
    """The text (`lines.plain`) in a fence that nothing in it closes."""
    fence = "`" * max(3, 1 + max((len(found) for found in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def code(words: str) -> str:
    """One line as code in a line."""
    ticks = "`" * (1 + max((len(found) for found in re.findall("`+", words)), default=0))
    pad = " " if words[:1] in ("`", " ", "") or words[-1:] in ("`", " ") else ""
    return f"{ticks}{pad}{words}{pad}{ticks}"


def literal(words: str) -> str:
    """One line without any meaning of Markdown: names, reasons and the like in the document's own lines."""
    return _MARKS.sub(r"\\\g<0>", words)


@functools.cache
def _parser() -> MarkdownIt:
    """Blocks alone, with no HTML among them: in what is written none is left outside of code."""
    parser = MarkdownIt("commonmark", {"html": False})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _escaped(line: str, acts: re.Pattern[str], spans: Sequence[tuple[int, int]]) -> str:
    def one(found: re.Match[str]) -> str:
        place = found.start(2)
        span = bisect_right(spans, (place, len(line))) - 1
        if len(found[1]) % 2 or (span >= 0 and place < spans[span][1]):
            return found[0]  # escaped already, or code
        return f"{found[1]}\\{found[2]}"

    return acts.sub(one, line)


def _spans(lines: list[str], first: int, end: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Code in the lines of one paragraph. None where a table's cells, which other readers of Markdown see,
    would part them otherwise: with a bar inside, or over the end of a line."""
    text = "\n".join(lines[first:end])
    found = list(_pairs(text))
    if any("|" in text[start:stop] or "\n" in text[start:stop] for start, stop in found):
        return
    begin, spans = 0, deque(found)
    for number in range(first, end):
        after = begin + len(lines[number])
        here = []
        while spans and spans[0][0] < after:
            start, stop = spans.popleft()
            here.append((start - begin, stop - begin))
        yield number, here
        begin = after + 1


def _pairs(text: str) -> Iterator[tuple[int, int]]:
    """Runs of backticks that CommonMark pairs: each with the next of its length."""
    runs: dict[int, deque[int]] = {}
    for found in re.finditer("`+", text):
        runs.setdefault(len(found[0]), deque()).append(found.start())
    place = 0
    for run in _TICKS.finditer(text):
        if run[1] is None or run.start() < place:
            continue
        length = len(run[1])
        later = runs.get(length, deque())  # of an escaped run a part is left, which may have none of its length
        while later and later[0] <= run.start():
            later.popleft()
        if later:
            place = later[0] + length
            yield run.start(), place

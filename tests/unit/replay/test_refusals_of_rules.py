"""Every wording in every rule table leads to a rung and to its rule, or says whose wording it is."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re

import pytest

from replay import next_rung
from replay.options import RUNGS
from replay.providers import rules
from replay.providers.rules import Rule
from tests.conformance import SHARED, needs_shared

UNWORDED = re.compile(r"none\b|40\d(,|:|$| for members)|the body is not UTF-8$")
"""Nothing that the provider words: no refusal, a bare status, or our own telling of a body that is no JSON."""

ELSEWHERE = re.compile(r"(?:see|as) ([A-Z]\d+)|([A-Z]\d+)'s$")
"""The wording of another rule."""

ANOTHERS = "the provider's: "
"""A library lets it pass, and the provider behind it refuses with its own wording and rule."""

NOT_ABOUT_THE_HISTORY = {
    "413 request_too_large": "a size, and no rung makes a history surely smaller",
    "the upstream's error": "a gateway's: the text is the upstream's own",
    "the library answers it itself: The tool call was interrupted before a result was produced.": "no refusal",
    "The model returned the following errors: ...": "a wrapping: the text inside decides",
}


def _tables() -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(rules.__path__):
        table = getattr(importlib.import_module(f"{rules.__name__}.{module.name}"), "RULES", None)
        for rule in (table or {}).values():
            found[f"{module.name} {rule.id}"] = rule
    return found


TABLES = _tables()
IDS = {rule.id for rule in TABLES.values()}


def _wrapped(text: str) -> list[str]:
    body = json.dumps({"error": {"message": text}})
    return [
        text,
        body,
        json.dumps({"error": {"message": "Provider returned error", "metadata": {"raw": body}}}),
        f"Request rejected (429) The model returned the following errors: {text}",
    ]


@pytest.mark.parametrize("name", TABLES)
def test_a_wording_leads_to_its_rule(name: str) -> None:
    rule = TABLES[name]
    other = ELSEWHERE.match(rule.error)
    if other:
        assert (other[1] or other[2]) in IDS
        return
    text = rule.error.removeprefix(ANOTHERS)
    worded = rule.id in next_rung(text).rules
    if not worded and (UNWORDED.match(text) or text in NOT_ABOUT_THE_HISTORY):
        return
    for said in _wrapped(text):
        found = next_rung(said)
        assert found.kind != "unknown", said
        assert found.rung in RUNGS[1:], (said, found)
        assert set(found.rules) & IDS, (said, found)
        # X rules hold everywhere, V and P rules stand for what the provider behind them refuses.
        if text == rule.error and rule.id[0] not in "XVP":
            assert rule.id in found.rules, (said, found)


@pytest.mark.parametrize(
    "text",
    re.findall(
        r"`((?:[^`\\]|\\`)+)`",
        r"""`without \`tool_result\` blocks immediately after` `must be followed by tool messages`
        `No tool output found for` `Expected toolResult blocks` `number of function response parts`
        `Not the same number of function calls` `unexpected \`tool_use_id\`` `must be a response to a prece`
        `No tool call found for` `exceeds the number of toolUse` `Unexpected tool call id`
        `Unexpected role 'tool'`
        `ids must be unique` `must have a single result` `Duplicate item found` `Duplicate tool call id`
        `should match pattern` `with a length of 9` `Expected an ID that begins with` `maximum length 64`
        `regular expression pattern` `bound to a different conversation` `Invalid \`signature\``
        `Invalid \`data\` in \`redacted` `must contain thinking` `thinking.signature` `cannot be modified`
        `invalid_encrypted_content` `encrypted content` `Thought signature is not valid`
        `Expected \`thinking\` or \`redacted_thinking\`` `first block must be` `reasoning_content passed back`
        `reasoning_content is missing` `missing a \`thought_signature` `without its required` `non-empty`
        `non-whitespace` `is blank` `at least one parts field` `expected a string, got null` `empty array`
        `prefill` `must end with a user message` `final block in an assistant message` `Expected last role`
        `toolConfig field must be defined` `Extra inputs are not permitted` `Unknown parameter`""",
    ),
)
def test_what_the_classifier_matches_is_known(text: str) -> None:
    for said in _wrapped(text.replace("\\`", "`")):
        found = next_rung(said)
        assert found.kind != "unknown", said
        assert found.rung in RUNGS[1:], said


FACTS = SHARED / "specs" / "providers.md"
FINER = {
    "Duplicate item found": "item ids",
    "Expected an ID that begins with": "item ids",
    "final block in an assistant message": "thinking required",
}
"""Texts of the facts' table whose class is told finer here: what mends them is another rung."""


def _table_of_texts() -> list[tuple[str, str]]:
    """(text, class) of each row of section 9 of the facts; `a` + (`b` or `c`) gives `a b` and `a c`."""
    section = FACTS.read_text("utf-8").partition("\n## 9")[2].partition("\n## 10")[0]
    found: list[tuple[str, str]] = []
    for line in section.splitlines():
        if not line.startswith("|") or "---" in line or "| dangling |" in line.partition("`")[0]:
            continue
        texts, kind = re.split(r"(?<!\\) \| ", line.strip("|").strip())[:2]
        for part in texts.split(" · "):
            words = [one.replace("\\`", "`") for one in re.findall(r"(?<!\\)`((?:[^`\\]|\\.)+)`", part)]
            if " + (" in part:
                words = [f"{words[0]} {other}" for other in words[1:]]
            found += [(text, kind) for text in words]
    return found


@needs_shared
def test_each_text_of_the_facts_table_has_its_class() -> None:
    rows = _table_of_texts()
    assert len(rows) > 45
    wrong = [
        (text, kind, found) for text, kind in rows if (found := next_rung(text).kind) != FINER.get(text, kind)
    ]
    assert wrong == []
    assert set(FINER) <= {text for text, _ in rows}

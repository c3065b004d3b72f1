"""The page of provider rules is the one that the tables make, and the tests that it names exist."""

from __future__ import annotations

from replay.providers.rules import openai_chat
from replay.providers.rules.anthropic import RULES
from tests.conformance import SHARED, needs_shared
from tests.unit.replay.providers import test_anthropic_render as render_tests
from tests.unit.replay.providers import test_anthropic_settings as settings_tests
from tests.unit.replay.providers import test_anthropic_special as special_tests
from tests.unit.replay.providers import test_openai_chat_render as chat_render_tests
from tests.unit.replay.providers.coverage import NO_TARGET, ids_of, untested
from tests.unit.replay.providers.providers_page import CHAT_MENDS, MENDS, PAGE, document, sections


def test_the_page_is_current() -> None:
    made = "python -m tests.unit.replay.providers.providers_page"
    assert PAGE.read_text(encoding="utf-8") == document(), f"write it anew: {made}"


def test_no_rule_goes_without_a_test_or_a_reason() -> None:
    assert [name for name, reasons in untested(sections()).items() if not all(reasons)] == []


@needs_shared
def test_every_rule_of_the_facts_is_in_a_table() -> None:
    names = ids_of(SHARED / "specs" / "providers.md")
    there = {name for section in sections() for name in section.rules}
    assert len(names) > 130
    assert [name for name in names if name not in there and name not in NO_TARGET] == []
    assert there.isdisjoint(NO_TARGET)


def test_every_rule_names_the_test_of_its_mend() -> None:
    assert set(MENDS) == set(RULES)
    there = {**vars(special_tests), **vars(settings_tests), **vars(render_tests)}
    assert [name for name in MENDS.values() if not callable(there.get(name))] == []
    assert set(CHAT_MENDS) <= set(openai_chat.RULES)
    assert [name for name in CHAT_MENDS.values() if not callable(getattr(chat_render_tests, name, None))] == []

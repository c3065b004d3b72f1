"""Every sample of a file that a runtime wrote: sniffed, imported once and again, shown, and sent anywhere."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pytest

from ledger import Ledger
from ledger.recorded import RecordedEvent
from projections.conversation import rows
from replay import Options, replay
from replay.providers.violations import violations
from tests.conformance import needs_shared
from tests.corpus import imports_page
from tests.corpus.test_fixtures_to_targets import PROVIDERS, asked, made_by
from tests.imports import FIXTURES, SAMPLES, take_file
from tests.unit.replay.providers.oracles import ORACLES
from turnledger.importing.files import opened
from turnledger.importing.formats import FORMATS, looks_like
from turnledger.importing.storing import import_file

pytestmark = needs_shared

by_sample = pytest.mark.parametrize(("name", "path"), SAMPLES, ids=[path for _, path in SAMPLES])
# Samples beside the files: what is streamed, and formats that are not taken in.
OTHERS = sorted(
    str(path.relative_to(FIXTURES))
    for folder in ("ag-ui", "ai-sdk", "anthropic-sse", "codex-exec", "inspect", "langgraph", "opencode")
    for path in (FIXTURES / folder).glob("*")
    if path.is_file() and not any(str(path.relative_to(FIXTURES)) == own for _, own in SAMPLES)
)


@functools.cache
def conversations(path: str) -> Sequence[tuple[str, Sequence[RecordedEvent]]]:
    """The conversations of a sample, with what is before their forks."""
    taken = take_file(FIXTURES / path)
    return [(name, taken.whole(name)) for name in taken.own]


def test_there_is_a_sample_of_every_format_that_has_one() -> None:
    without = {"anthropic", "openai-chat", "turnledger"}
    assert {name for name, _ in SAMPLES} == set(FORMATS) - without


@by_sample
def test_a_sample_looks_like_its_format_alone(name: str, path: str) -> None:
    with opened(FIXTURES / path) as file:
        assert [one.name for one in looks_like(file)] == [name]


@pytest.mark.parametrize("path", OTHERS)
def test_what_is_no_transcript_looks_like_none(path: str) -> None:
    with opened(FIXTURES / path) as file:
        assert looks_like(file) == []


def test_the_page_tells_what_each_sample_gives() -> None:
    page = imports_page.PAGE.read_text("utf-8")
    assert imports_page.written(page) == imports_page.table(), "python -m tests.corpus.imports_page"


@by_sample
def test_what_was_imported_is_shown(name: str, path: str) -> None:
    del name
    for conversation, records in conversations(path):
        shown = rows(list(records), conversation)
        said = {record.step_id for record in records if record.type in ("text_complete", "tool_start")}
        assert said - {None} <= {row.get("step_id") for row in shown}


def test_importing_all_samples_again_adds_nothing(engine_url: str) -> None:
    first: dict[
        str, str
    ] = {}  # the sample that gave a conversation; another of the same session is other bodies
    with Ledger.open(engine_url) as ledger:
        for again in (False, True):
            for name, path in SAMPLES:
                report = import_file(ledger, "auto", FIXTURES / path, None, False, lambda _: None)
                assert report.failure is None, report.failure
                assert report.format == name
                for one in report.conversations:
                    if first.setdefault(one.conversation_id, path) == path:
                        assert one.differing == 0
                    assert (one.new == 0) if again else (one.new + one.known > 0)


@pytest.mark.parametrize("provider", PROVIDERS)
@by_sample
def test_every_conversation_goes_to_every_target(name: str, path: str, provider: str) -> None:
    del name
    for _, records in conversations(path):
        going_on = [*records, asked(records)]
        for named in made_by(records):
            target: dict[str, Any] = {"provider": provider, **named}
            found = replay(going_on, "c", target, Options(fingerprints=False))
            assert found.sendable
            assert violations(target, found.request) == []
            assert ORACLES[provider](found.request) == []


def test_another_format_is_not_taken_for_the_one_named() -> None:
    for name, path in SAMPLES[:: max(1, len(SAMPLES) // 12)]:
        other = next(one for one in FORMATS if one != name)
        report = import_file(None, other, FIXTURES / path, None, True, lambda _: None)
        assert report.failure is not None
        assert f"it looks like {name}" in report.failure

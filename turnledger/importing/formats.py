"""The formats that can be taken in, and which one a file looks like."""

from collections.abc import Callable
from itertools import islice

from ledger.errors import NotASession
from ledger.intake import (
    ai_sdk,
    claude_code,
    codex,
    dsh,
    openai_agents,
    opencode,
    own,
    pi,
    pydantic_ai,
    requests,
)
from ledger.intake.transcript import Format
from turnledger.importing.files import HEAD_BYTES, OpenFile, PartOf
from turnledger.importing.others import other, tables_of

AUTO = "auto"

_ALL = (
    own.FILES,
    ai_sdk.FILES,
    pydantic_ai.FILES,
    pi.FILES,
    claude_code.FILES,
    codex.FILES,
    dsh.FILES,
    opencode.FILES,
    openai_agents.FILES,
    requests.ANTHROPIC,
    requests.RESPONSES,
    requests.CHAT,
)
FORMATS: dict[str, Format] = {one.name: one for one in _ALL}
"""By name. To add one: its `Format` here; `ledger.intake.transcript` says what that is."""

_DATABASES = {
    "opencode": frozenset({"session", "message", "part"}),
    "openai-agents": frozenset({"agent_sessions", "agent_messages"}),
}
"""Tables by the format of the databases that have them, whatever these are called."""


def suffixes(source_format: str) -> tuple[str, ...]:
    """How the files of a format end; of all of them for `auto`."""
    if source_format == AUTO:
        return tuple(dict.fromkeys(suffix for one in FORMATS.values() for suffix in one.suffixes))
    return FORMATS[source_format].suffixes


def part_of(source_format: str) -> PartOf:
    """Which file takes in another, by that format; by any of them for `auto`."""
    chosen = list(FORMATS.values()) if source_format == AUTO else [FORMATS[source_format]]

    def any_of(path: str, head: Callable[[], bytes]) -> str | None:
        return next((whole for one in chosen if (whole := one.part_of(path, head)) is not None), None)

    return any_of


def looks_like(file: OpenFile) -> list[Format]:
    """The formats that a file looks like, in their order. Raises `OSError` for a database that stays locked."""
    head = b"".join(islice(file.chunks(), 1))[:HEAD_BYTES]
    found = [one for one in FORMATS.values() if one.looks_like(file.name, head)]
    if found or not (tables := tables_of(file)):
        return found
    return [FORMATS[name] for name, own in _DATABASES.items() if tables >= own]


def format_of(source_format: str, file: OpenFile) -> Format:
    """The format of that name; for `auto` the one that the file looks like.

    Raises `NotASession` where nothing known looks like it, or where it is something else than was named, and
    `OSError` for a database that stays locked.
    """
    found = looks_like(file)
    runtime = "known" if source_format == AUTO else source_format
    if found:
        if source_format == AUTO:
            return found[0]
        if FORMATS[source_format] not in found:
            problem = f"it looks like {' or '.join(one.name for one in found)}"
            raise NotASession(file=file.name, runtime=runtime, problem=problem)
    elif (said := other(file)) is not None:
        raise NotASession(file=file.name, runtime=runtime, problem=f"it is {said}")
    elif source_format == AUTO:
        problem = f"it looks like none of {', '.join(FORMATS)}; name its format if you know it"
        raise NotASession(file=file.name, runtime=runtime, problem=problem)
    return FORMATS[source_format]

"""Claude's Agent SDK with its session store in the ledger: the package's own contracts, and what it stores."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

sdk = pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk.testing import run_session_store_conformance  # noqa: E402

from ledger import Ledger  # noqa: E402
from projections import view  # noqa: E402
from replay.audit import verify  # noqa: E402
from tests.conformance import SHARED, needs_shared  # noqa: E402
from turnledger.importing.storing import import_file  # noqa: E402
from turnledger.runtimes.claude_agent_sdk import LedgerSessionStore  # noqa: E402

KEY: Any = {"project_key": "-home-dev-app", "session_id": "7d0f6c1e-0000-4000-8000-000000000001"}


def entry(number: int, **more: Any) -> Any:
    return {"type": "x", "uuid": f"u{number}", "n": number, **more}


def kept(ledger: Ledger) -> LedgerSessionStore:
    return LedgerSessionStore(ledger, conversations=False)


def test_the_packages_own_contracts(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:
        numbers = itertools.count()

        def fresh() -> Any:
            return LedgerSessionStore(ledger.scoped(tenant=f"tenant-{next(numbers)}"))

        asyncio.run(run_session_store_conformance(fresh))
        assert next(numbers) > 14
        assert verify(ledger).ok


def test_whatever_json_an_entry_is_it_comes_back_equal(ledger: Ledger) -> None:
    odd = [
        entry(1, text="\ud800 lone", deep=[[[[{"a": None}]]]], float=1.0, big=10**40, empty={}),
        entry(2, image="A" * 2_500_000),
        {"type": "mode", "value": True},
        {"type": "mode", "value": True},
    ]

    async def run() -> Any:
        store = kept(ledger)
        await store.append(KEY, odd)
        return await store.load(KEY)

    assert asyncio.run(run()) == odd, "what has no uuid is never passed over"


def test_an_entry_is_stored_once_by_its_uuid(ledger: Ledger) -> None:
    async def run() -> Any:
        store = kept(ledger)
        await store.append(KEY, [entry(1), entry(1), entry(2)])
        await store.append(KEY, [entry(2, changed=True), entry(3)])
        return await store.load(KEY)

    assert asyncio.run(run()) == [entry(1), entry(2), entry(3)]


def test_what_was_deleted_may_be_written_anew(ledger: Ledger) -> None:
    below: Any = {**KEY, "subpath": "subagents/agent-a"}

    async def run() -> None:
        store = kept(ledger)
        await store.append(KEY, [entry(1, customTitle="old")])
        await store.append(below, [entry(1)])
        await store.delete(KEY)
        await store.delete(KEY)
        assert (await store.load(below), await store.list_subkeys(KEY)) == (None, [])
        assert await store.list_session_summaries(KEY["project_key"]) == []
        await store.append(KEY, [entry(1)])
        assert await store.load(KEY) == [entry(1)]
        (summary,) = await store.list_session_summaries(KEY["project_key"])
        assert "old" not in str(summary["data"])

    asyncio.run(run())


def test_names_of_any_length_and_kind(ledger: Ledger) -> None:
    projects = ["a/b", "a%2Fb", "a", "p" * 300, "p" * 299 + "q", "ü" * 90]

    async def run() -> None:
        store = kept(ledger)
        for project in projects:
            for session in ("s/t", "s" * 200):
                key: Any = {"project_key": project, "session_id": session}
                await store.append(key, [entry(1, of=[project, session])])
                await store.append({**key, "subpath": "x/" * 60 + "y"}, [entry(2)])
        for project in projects:
            assert {one["session_id"] for one in await store.list_sessions(project)} == {"s/t", "s" * 200}
            key = {"project_key": project, "session_id": "s/t"}
            assert await store.load(key) == [entry(1, of=[project, "s/t"])]
            assert await store.list_subkeys(key) == ["x/" * 60 + "y"]

    asyncio.run(run())


def test_writers_beside_each_other_lose_nothing(engine_url: str) -> None:
    with Ledger.open(engine_url) as ledger:

        async def run() -> Any:
            stores = [kept(ledger) for _ in range(4)]
            await asyncio.gather(
                *(
                    store.append(KEY, [entry(10 * number + at, customTitle=f"t{number}")])
                    for at in range(5)
                    for number, store in enumerate(stores)
                )
            )
            return await stores[0].load(KEY)

        stored = asyncio.run(run())
        assert sorted(one["n"] for one in stored) == [10 * n + at for n in range(4) for at in range(5)]


@needs_shared
@pytest.mark.parametrize("name", ["v2.1.332-edit-resume-compact", "v2.1.332-async-subagent"])
def test_a_mirrored_session_is_the_conversation_that_its_file_gives(
    ledger: Ledger, tmp_path: Path, name: str
) -> None:
    folder = SHARED / "fixtures" / "claude-code"
    entries = [json.loads(line) for line in (folder / f"{name}.jsonl").read_bytes().splitlines()]
    session = next(one["sessionId"] for one in entries if one.get("sessionId"))
    key: Any = {"project_key": "p", "session_id": session}

    async def mirror() -> LedgerSessionStore:
        store = LedgerSessionStore(ledger)
        for path in sorted((folder / name).rglob("*.jsonl")):
            below = str(path.relative_to(folder / name).with_suffix(""))
            lines = [json.loads(line) for line in path.read_bytes().splitlines()]
            await store.append({**key, "subpath": below}, lines)
        for at in range(0, len(entries), 7):
            await store.append(key, entries[at : at + 7])
        return store

    store = asyncio.run(mirror())
    assert store.failures == {}
    with Ledger.open(f"sqlite:///{tmp_path / 'other.db'}") as other:
        file = tmp_path / f"{session}.jsonl"
        file.write_bytes((folder / f"{name}.jsonl").read_bytes())
        if (folder / name).is_dir():
            shutil.copytree(folder / name, tmp_path / session)
        import_file(other, "claude-code", file, None, False, lambda _: None)
        for one in other.conversations():
            kept = [_without_ids(row) for row in view(ledger, one.conversation_id).rows]
            assert kept == [_without_ids(row) for row in view(other, one.conversation_id).rows]


def _without_ids(row: Any) -> Any:
    """A row without its versions: a lane that was taken in before its call was known stands elsewhere."""
    return {name: value for name, value in row.items() if name not in ("versions", "id")}

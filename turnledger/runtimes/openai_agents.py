"""The memory of OpenAI Agents in the ledger (`pip install turnledger[openai-agents]`).

    session = LedgerSession("chat-1", ledger)
    result = await Runner.run(agent, "Fix add()", session=session)

It stands where the library's own session would: what it is given it gives back item by item, and all of it
is recorded as a conversation. What was recorded otherwise (by a `Recorder`, a stream, an import) is its history
too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from ledger.admission import check_id
from ledger.events import Json, JsonObject
from ledger.intake.mending import plain_json
from ledger.intake.openai_agents.session import SessionState
from ledger.store import Ledger
from ledger.store.ledger import made_id
from ledger.turns import LiveStamps
from turnledger.runtimes.appending import append_as_it_stands

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings


class LedgerSession:
    """One conversation as a session. `provider` and `model` are written into its steps: the items do not say.

    Errors of the ledger are raised as they are (`TurnBusy` while a recorder of another process holds the
    conversation).
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        ledger: Ledger,
        *,
        provider: str | None = "openai",
        model: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        check_id("session_id", session_id)
        self.session_id = session_id
        self.session_settings = session_settings
        self._ledger = ledger
        self._provider = provider
        self._model = model
        self._state = SessionState()
        self._version = 0
        self._lock = asyncio.Lock()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first; with `limit`, or the settings' own, the last so many."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        async with self._lock:
            await asyncio.to_thread(self._catch_up)
            items = self._state.items(limit)
        return cast("list[TResponseInputItem]", items)

    async def add_items(self, items: Sequence[TResponseInputItem]) -> None:
        """Add items; they are stored when this returns."""
        plain = [cast(JsonObject, plain_json(cast(object, item))) for item in items]
        if plain:
            async with self._lock:
                await asyncio.to_thread(self._add, plain)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item back, and give it. It stays in the ledger, retracted."""
        async with self._lock:
            item = await asyncio.to_thread(self._pop)
        return cast("TResponseInputItem | None", item)

    async def clear_session(self) -> None:
        """Take all items back. They stay in the ledger, retracted."""
        async with self._lock:
            await asyncio.to_thread(self._clear)

    # -- in a thread of its own

    def _catch_up(self) -> None:
        head = self._ledger.head(self.session_id)
        if head is None or head.version == self._version:
            return
        for recorded in self._ledger.read(self.session_id, self._version):
            self._state.take(json.loads(recorded.body))
            self._version = recorded.version

    def _add(self, items: list[JsonObject]) -> None:
        self._append(
            lambda: self._state.added(
                self.session_id, _STAMPS, items, provider=self._provider, model=self._model
            )
        )

    def _pop(self) -> JsonObject | None:
        popped: list[JsonObject] = []

        def events() -> list[JsonObject]:
            popped.clear()
            last = self._state.last()
            if last is None:
                return []
            popped.append(last[1])
            return [self._retraction([last[0]])]

        self._append(events)
        return popped[0] if popped else None

    def _clear(self) -> None:
        def events() -> list[JsonObject]:
            names = self._state.event_ids()
            return [self._retraction(names)] if names else []

        self._append(events)

    def _retraction(self, names: list[str]) -> JsonObject:
        return {
            "type": "retraction",
            "id": made_id(),
            "conversation_id": self.session_id,
            "at": _now(),
            "event_ids": cast(Json, names),
        }

    def _append(self, events: Callable[[], list[JsonObject]]) -> None:
        """Append what `events` makes of the state as it stands; again where another writer was there first."""

        def made() -> tuple[int, list[JsonObject]]:
            self._catch_up()
            return self._version, events()

        if append_as_it_stands(self._ledger, self.session_id, made):
            self._catch_up()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_STAMPS = LiveStamps(made_id, _now)

"""What a recorder's caller can wait for: that everything written so far is in the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Protocol

from ledger.errors import TurnledgerError


class Storing(Protocol):
    """The part of an outbox that a receipt asks."""

    stored: int

    def wait(self, upto: int) -> None: ...

    def when(self, upto: int, call: Callable[[BaseException | None], None]) -> None: ...


class Receipt:
    """Everything that was put until now: `wait()` for it, or `await` it. Both raise when it could not be
    stored."""

    def __init__(self, outbox: Storing, upto: int) -> None:
        self._outbox = outbox
        self._upto = upto

    @property
    def stored(self) -> bool:
        """Whether it is in the ledger."""
        return self._outbox.stored >= self._upto

    def wait(self) -> None:
        """Return when it is stored. Raises `TurnBusy`, `LeaseLost`, `RecordingStopped`, `IdConflict`."""
        self._outbox.wait(self._upto)

    def __await__(self) -> Generator[object, None, None]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def settle(error: BaseException | None) -> None:
            if not done.done():
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)

        def tell(error: BaseException | None) -> None:
            with suppress(RuntimeError):  # a loop that is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, error)

        self._outbox.when(self._upto, tell)
        yield from done


def again(error: TurnledgerError) -> TurnledgerError:
    """An error for one more thread: raising one object in several would tangle their tracebacks."""
    return type(error)(**error.attributes)

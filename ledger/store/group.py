"""Appends that share one commit: whoever comes while a commit runs is stored together in the next one.

There is no writer thread. The first thread to find nobody committing leads: it takes what waits and commits
it for all. A lone writer pays one uncontended lock.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from ledger.store.draft import Draft, Sealed
from ledger.store.receipts import Appended

MOST_EVENTS = 20_000


class Request:
    """One append that waits: the batch, how it was sealed beforehand, and then its outcome."""

    __slots__ = ("batch", "outcome", "sealed")

    def __init__(self, batch: Draft, sealed: Sealed) -> None:
        self.batch = batch
        self.sealed = sealed
        self.outcome: Appended | BaseException | None = None


class Group:
    """`commit(requests)` stores several in one transaction and sets each one's outcome."""

    def __init__(self, commit: Callable[[Sequence[Request]], None]) -> None:
        self._commit = commit
        self._waiting: deque[Request] = deque()
        self._leading = threading.Lock()

    def store(self, request: Request) -> Appended:
        """Have a request stored, by this thread or by another; gives its answer or raises its error."""
        self._waiting.append(request)
        with self._leading:
            # A leader that was interrupted leaves those it took without an outcome: each then leads for itself.
            while request.outcome is None:
                self._commit(self._take(request))
        if isinstance(request.outcome, BaseException):
            raise request.outcome
        return request.outcome

    def alone(self) -> AbstractContextManager[object]:
        """Hold back the group's commits: for other work with its connection."""
        return self._leading

    def _take(self, own: Request) -> Sequence[Request]:
        taken: list[Request] = []
        events = 0
        while self._waiting and (not taken or events + len(self._waiting[0].batch.events) <= MOST_EVENTS):
            request = self._waiting.popleft()
            if request.outcome is None:
                taken.append(request)
                events += len(request.batch.events)
        return taken or [own]

"""One book as an application recorder of `eventsourcing`: the library's own code writes into a ledger and
reads it.

A stored event is an event of a conversation: its originator is the conversation, its topic the type, its
state the body as it is (which need not be JSON: such a ledger is read through this door). It has no id of
its own, so it is new every time, and what guards against doubles is its version.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from eventsourcing.persistence import ApplicationRecorder, Notification, StoredEvent, Subscription

from ledger.errors import InvalidEvent, UnknownConversation, VersionConflict
from ledger.recorded import EncodedEvent, RecordedEvent
from ledger.store.draft import Draft, draft
from ledger.store.ledger import Ledger, made_id
from ledger.store.reading import SHORTEST_WAIT, next_wait


class BookRecorder(ApplicationRecorder):
    """The application sequence is one book; writes go the way that all appends go."""

    def __init__(self, ledger: Ledger, book: int = 0) -> None:
        self.ledger = ledger
        self.book = book

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int] | None:
        """Append events, all or none, and give their positions; None for no events.

        Raises `VersionConflict` (an `IntegrityError`) when they do not go on where their conversation ends,
        `InvalidEvent` for an originator that is not text or belongs to another book.
        """
        by_originator: dict[str, list[StoredEvent]] = {}
        for event in stored_events:
            by_originator.setdefault(_name(event.originator_id), []).append(event)
        if not by_originator:
            return None
        batches = [self._batch(name, events) for name, events in by_originator.items()]
        receipts = self.ledger.engine.append_together(batches)
        positions = {
            (name, event.originator_version): (receipt.first_position or 0) + at
            for (name, events), receipt in zip(by_originator.items(), receipts, strict=True)
            for at, event in enumerate(events)
        }
        return [positions[_name(event.originator_id), event.originator_version] for event in stored_events]

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The events of one conversation, versions gt < v <= lte."""
        try:
            events = self.ledger.read(_name(originator_id), after=gt or 0, upto=lte)
        except UnknownConversation:
            return []
        found = [StoredEvent(event.conversation_id, event.version, event.type, event.body) for event in events]
        return (found[::-1] if desc else found)[:limit]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """At most `limit` events of the book from position `start` (or after it) to `stop`, of some topics."""
        engine = self.ledger.engine
        after = (start or 1) - 1 if inclusive_of_start else start or 0
        last = engine.positions().get(self.book, 0)
        last = last if stop is None else min(stop, last)
        found: list[Notification] = []
        while after < last and len(found) < limit:
            events, after = engine.book_page(self.book, after, last, self.ledger.tenant)
            found += [_notification(event) for event in events if not topics or event.type in topics]
        return found[:limit]

    def max_notification_id(self) -> int | None:
        """The last position of the book; None when it is empty."""
        return self.ledger.engine.positions().get(self.book) or None

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> "BookSubscription":
        """The events after position `gt`, and then those that come, until it is stopped."""
        return BookSubscription(self, gt, topics)

    def _batch(self, name: str, events: Sequence[StoredEvent]) -> Draft:
        first = events[0].originator_version
        for at, event in enumerate(events):
            if event.originator_version != first + at:
                raise VersionConflict(
                    conversation_id=name, expected=event.originator_version - 1, actual=first + at - 1
                )
        encoded = [EncodedEvent(made_id(), event.topic, None, None, event.state) for event in events]
        return draft(self.ledger.tenant, name, self.ledger.actor, encoded, first - 1, "conflict")


class BookSubscription(Subscription[BookRecorder]):
    """Follows a book by polling, woken early by appends of this process. No thread, no LISTEN."""

    def __init__(self, recorder: BookRecorder, gt: int | None, topics: Sequence[str]) -> None:
        super().__init__(recorder, gt, topics)
        self._after = gt or 0
        self._ready: list[Notification] = []

    def __next__(self) -> Notification:
        """The next event. Raises `StopIteration` once stopped."""
        engine = self._recorder.ledger.engine
        wait = SHORTEST_WAIT
        while not self._has_been_stopped:
            if self._ready:
                return self._ready.pop()
            seen = engine.appends
            last = engine.positions().get(self._recorder.book, 0)
            if self._after < last:
                events, self._after = engine.book_page(
                    self._recorder.book, self._after, last, self._recorder.ledger.tenant
                )
                wanted = [event for event in events if not self._topics or event.type in self._topics]
                self._ready = [_notification(event) for event in reversed(wanted)]
                continue
            wait = SHORTEST_WAIT if engine.wait_for_append(seen, wait) else next_wait(wait)
        raise StopIteration


def _name(originator_id: UUID | str) -> str:
    if not isinstance(originator_id, str):
        problem = f"must be text, not {type(originator_id).__name__}: a conversation's id is a string"
        raise InvalidEvent(field="originator_id", problem=problem)
    return originator_id


def _notification(event: RecordedEvent) -> Notification:
    return Notification(event.conversation_id, event.version, event.type, event.body, event.position)

"""Every error that Turnledger raises on purpose.

TurnledgerError
├── BadInput                      what was given cannot be taken; nothing was stored
│   ├── NotJson                   a line or body that is not JSON
│   ├── NotUtf8                   bytes that are not UTF-8
│   ├── InvalidEvent              JSON, but not an event: field and problem
│   ├── EventTooLarge             over 16 MiB
│   ├── NestingTooDeep            over 200 levels
│   ├── NotFinite                 NaN or infinity
│   ├── IntegerTooLong            over 4,300 digits
│   ├── BatchTooLarge             over 10,000 events
│   ├── NotASession               a file that is not of the runtime it was given as
│   ├── ManySessions              a name for one conversation, given for a source of several
│   └── UnknownTarget             no such provider to render for
├── Conflict                      the store holds something else than the caller thought
│   ├── VersionConflict           expected version and actual one differ
│   ├── IdConflict                an event id is taken, or a batch is stored in part
│   ├── TurnBusy                  a turn is running on that lane, and somebody else records it
│   ├── LeaseLost                 a recorder lost its right to append to the lane
│   └── RecordedElsewhere         an import would mix with what did not come from that file
├── UnknownConversation           no conversation of that name in this tenant
├── BadFork                       a branch whose source cannot be read at that version
├── SourceChanged                 a file changed while it was read
├── RecordingStopped              the database stayed away while a turn was recorded
├── Unauthentic                   verification failed (exit 3)
└── DatabaseError                 the database cannot serve
    ├── DatabaseMissing           there is none at that address
    ├── NotALedger                it holds something else
    ├── SchemaTooNew              made by a newer version
    ├── DatabaseBusy              locked by others for too long
    ├── DatabaseFull              out of space
    ├── DatabaseReadOnly          not writable
    └── DatabaseUnavailable       cannot be reached or opened

A class's docstring is its message, with the attributes filled in: documentation and text cannot drift apart.
"""

import string
from collections.abc import Mapping

from eventsourcing.persistence import IntegrityError


class TurnledgerError(Exception):
    """Something went wrong."""

    exit_code = 1

    def __init__(self, **attributes: object) -> None:
        self.attributes: Mapping[str, object] = attributes
        for name, value in attributes.items():
            setattr(self, name, value)
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The class's first docstring paragraph with the attributes filled in, on one line."""
        template = " ".join((type(self).__doc__ or "").split("\n\n")[0].split())
        return _Lenient().vformat(template, (), self.attributes)

    def __str__(self) -> str:
        where = self.attributes.get("line")
        return f"line {where}: {self.message}" if where is not None else self.message

    def at_line(self, line: int) -> "TurnledgerError":
        """The same error, naming the input line (from 1) where it was met."""
        return type(self)(**{**self.attributes, "line": line})


class _Lenient(string.Formatter):
    """Leaves a name that has no value as it is: a message must never fail to be made."""

    def get_value(self, key: int | str, _args: object, kwargs: Mapping[str, object]) -> object:
        return kwargs.get(str(key), f"{{{key}}}")

    def format_field(self, value: object, format_spec: str) -> str:
        return format(value, format_spec) if isinstance(value, int | float) else str(value)


class BadInput(TurnledgerError):
    """{problem}"""

    line: int | None = None


class NotJson(BadInput):
    """not JSON: {problem}; nothing of this batch was stored, correct the line and send the batch again"""

    problem: str


class NotUtf8(BadInput):
    """not UTF-8 at byte {offset} (0x{byte}); nothing of this batch was stored, re-encode the input"""

    offset: int
    byte: str


class InvalidEvent(BadInput):
    """not an event: field {field}: {problem}"""

    field: str
    problem: str


class EventTooLarge(BadInput):
    """{field} is {actual:,} bytes, over the limit of {limit:,}; store large content apart and refer to it"""

    field: str
    limit: int
    actual: int


class NestingTooDeep(BadInput):
    """{field} nests {actual:,} levels deep, over the limit of {limit}; flatten it or store it as text"""

    field: str
    limit: int
    actual: int


class NotFinite(BadInput):
    """{field} is {actual}, which JSON cannot hold (limit: {limit}); send null or a string"""

    field: str
    limit: str
    actual: str


class IntegerTooLong(BadInput):
    """{field} has {actual:,} digits, over the limit of {limit:,}; send it as a string"""

    field: str
    limit: int
    actual: int


class BatchTooLarge(BadInput):
    """{field} holds {actual:,} events, over the limit of {limit:,}; cut it into several appends"""

    field: str
    limit: int
    actual: int


class NotASession(BadInput):
    """{file} is not a {runtime} session file: {problem}"""

    file: str
    runtime: str
    problem: str


class ManySessions(BadInput):
    """{file} holds {count:,} sessions, which cannot all be named {name}; leave the name out"""

    file: str
    count: int
    name: str


class UnknownTarget(BadInput):
    """there is no target {target!s}; there is: {known}"""

    target: str
    known: str


class Conflict(TurnledgerError, IntegrityError):
    """{problem}"""


class VersionConflict(Conflict):
    """conversation {conversation_id} is at version {actual}, not {expected}; read it again and decide anew"""

    conversation_id: str
    expected: int
    actual: int


class IdConflict(Conflict):
    """event id {event_id} of conversation {conversation_id}: {problem}"""

    conversation_id: str
    event_id: str
    problem: str


class TurnBusy(Conflict):
    """conversation {conversation_id} is busy: turn {turn_id} runs on lane {lane}, recorded by {holder} since
    {since}; wait for its end, or run `turnledger recover` if its recorder is gone"""

    conversation_id: str
    lane: str
    turn_id: str
    holder: str
    since: str
    until: str


class LeaseLost(Conflict):
    """the lease on conversation {conversation_id}, lane {lane}, turn {turn_id} is lost: {problem}; nothing of
    this append was stored, begin a new turn"""

    conversation_id: str
    lane: str
    turn_id: str
    problem: str


class RecordedElsewhere(Conflict):
    """conversation {conversation_id} is in the ledger already, and this cannot be added to it ({problem});
    import under another name with --as NEW"""

    conversation_id: str
    problem: str


class UnknownConversation(TurnledgerError):
    """there is no conversation {conversation_id}{hint}"""

    conversation_id: str
    hint: str


class BadFork(TurnledgerError):
    """{conversation_id} cannot branch from {source_conversation_id} at version {source_version}: {problem}"""

    conversation_id: str
    source_conversation_id: str
    source_version: int
    problem: str


class SourceChanged(TurnledgerError):
    """{file} changed while it was read (at line {at}); import it again"""

    file: str
    at: int


class RecordingStopped(TurnledgerError):
    """recording of conversation {conversation_id} stopped: {problem}; {stored:,} events are stored (up to
    version {version}), {lost:,} ({size:,} bytes) are not"""

    conversation_id: str
    problem: str
    stored: int
    lost: int
    size: int
    version: int


class Unauthentic(TurnledgerError):
    """{problem}"""

    exit_code = 3


class DatabaseError(TurnledgerError):
    """{database}: {problem}"""

    database: str
    problem: str


class DatabaseMissing(DatabaseError):
    """there is no database at {database}; append to it once, or name another with --db"""


class NotALedger(DatabaseError):
    """{database} is not a Turnledger database ({problem}); name another with --db"""


class SchemaTooNew(DatabaseError):
    """{database} has schema {actual}, this version knows up to {known}; upgrade turnledger"""

    actual: int
    known: int


class DatabaseBusy(DatabaseError):
    """{database} stayed locked by another process ({problem}); nothing was stored, try again"""


class DatabaseFull(DatabaseError):
    """{database} has no room left ({problem}); nothing of this append was stored, free space and try again"""


class DatabaseReadOnly(DatabaseError):
    """{database} cannot be written ({problem}); nothing was stored, check the permissions"""


class DatabaseUnavailable(DatabaseError):
    """{database} cannot be used: {problem}"""

-- The ledger's tables (DESIGN.md 4). A commit on SQLite costs by the pages it touches, so there are as few trees as the
-- promises allow: an event's place is one integer, (cid << 32) + version, the key of its table; the last position of a
-- book is that of its last batch.

-- The ledger's own row: how many books new conversations are spread over.
CREATE TABLE ledger (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    id         BLOB    NOT NULL,
    books      INTEGER NOT NULL CHECK (books > 0),
    created_at INTEGER NOT NULL
);

-- The books there are.
CREATE TABLE book (book INTEGER PRIMARY KEY);

-- `version` and `head` are those of the last event; `fence` is the number of the last lease.
CREATE TABLE conversation (
    cid            INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant         TEXT    NOT NULL,
    id             TEXT    NOT NULL,
    book           INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    head           BLOB    NOT NULL,
    created_at     INTEGER NOT NULL,
    recorded_at    INTEGER NOT NULL,
    fence          INTEGER NOT NULL DEFAULT 0,
    source_cid     INTEGER,
    source_version INTEGER,
    UNIQUE (tenant, id)
);

-- `head` is the chain's head after the event. `body` is salt and JSON bytes; an erased event has none, and its
-- commitment and skeleton in `erased`. Ids stand as they are and not hashed: those made one after another lie together.
CREATE TABLE event (
    place    INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL,
    type     TEXT    NOT NULL,
    position INTEGER NOT NULL,
    header   BLOB    NOT NULL,
    head     BLOB    NOT NULL,
    body     BLOB,
    erased   BLOB
);
CREATE UNIQUE INDEX event_id ON event (place >> 32, id);

-- The order of a book, once a batch: the events of versions first_version .. first_version + n - 1 stand in the book at
-- first_position .. first_position + n - 1.
CREATE TABLE batch (
    book           INTEGER NOT NULL,
    first_position INTEGER NOT NULL,
    cid            INTEGER NOT NULL,
    first_version  INTEGER NOT NULL,
    n              INTEGER NOT NULL,
    committed_at   INTEGER NOT NULL,
    PRIMARY KEY (book, first_position)
) WITHOUT ROWID;

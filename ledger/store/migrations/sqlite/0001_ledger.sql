-- The ledger's tables (DESIGN.md 4). An event's place is one integer, (cid << 32) + version: the primary key needs no
-- index of its own, and one conversation lies together on disk.

-- The ledger's own row: how many books new conversations are spread over.
CREATE TABLE ledger (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    id         BLOB    NOT NULL,
    books      INTEGER NOT NULL CHECK (books > 0),
    created_at INTEGER NOT NULL
);

-- The last position given out in each book.
CREATE TABLE book (
    book     INTEGER PRIMARY KEY,
    position INTEGER NOT NULL
);

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

-- `body` is salt and JSON bytes; an erased event has none, and its commitment and skeleton in `erased`.
CREATE TABLE event (
    place  INTEGER PRIMARY KEY,
    key    BLOB NOT NULL,
    type   TEXT NOT NULL,
    header BLOB NOT NULL,
    head   BLOB NOT NULL,
    body   BLOB,
    erased BLOB,
    CHECK ((body IS NULL) <> (erased IS NULL))
);
CREATE UNIQUE INDEX event_key ON event (place >> 32, key);

-- Positions, once a batch: the events of versions first_version .. first_version + n - 1 stand in the book at
-- first_position .. first_position + n - 1; `bytes` is the size of their bodies, for readers who bound their memory.
CREATE TABLE batch (
    book           INTEGER NOT NULL,
    first_position INTEGER NOT NULL,
    cid            INTEGER NOT NULL,
    first_version  INTEGER NOT NULL,
    n              INTEGER NOT NULL,
    bytes          INTEGER NOT NULL,
    committed_at   INTEGER NOT NULL,
    PRIMARY KEY (book, first_position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX batch_version ON batch (cid, first_version);

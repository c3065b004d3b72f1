-- The ledger's tables (DESIGN.md 4), in a schema of their own. `migrating()` has made the schema.

-- The ledger's own row: how many books new conversations are spread over.
CREATE TABLE turnledger.ledger (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    id         uuid    NOT NULL DEFAULT gen_random_uuid(),
    books      integer NOT NULL CHECK (books > 0),
    created_at bigint  NOT NULL
);

-- The last position given out in each book. Writers meet here last, so the rows are spread over pages.
CREATE TABLE turnledger.book (
    book     integer PRIMARY KEY,
    position bigint  NOT NULL
) WITH (fillfactor = 10);

-- `version` and `head` are those of the last event; `fence` is the number of the last lease. The columns that change
-- stand in no index, so that a row is updated in its page.
CREATE TABLE turnledger.conversation (
    cid            bigint  PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant         text    COLLATE "C" NOT NULL,
    id             text    COLLATE "C" NOT NULL,
    book           integer NOT NULL,
    version        bigint  NOT NULL,
    head           bytea   NOT NULL,
    created_at     bigint  NOT NULL,
    recorded_at    bigint  NOT NULL,
    fence          bigint  NOT NULL DEFAULT 0,
    source_cid     bigint,
    source_version bigint,
    UNIQUE (tenant, id)
) WITH (fillfactor = 70);

-- `head` is the chain's head after the event. `body` is salt and JSON bytes; an erased event has none, and its
-- commitment and skeleton in `erased`. Ids stand as they are and not hashed: those made one after another lie together.
CREATE TABLE turnledger.event (
    cid     bigint NOT NULL,
    version bigint NOT NULL,
    id      text   COLLATE "C" NOT NULL,
    type    text   COLLATE "C" NOT NULL,
    header  bytea  NOT NULL,
    head    bytea  NOT NULL,
    body    bytea,
    erased  bytea,
    PRIMARY KEY (cid, version),
    CONSTRAINT event_id UNIQUE (cid, id)
);

-- Positions, once a batch: the events of versions first_version .. first_version + n - 1 stand in the book at
-- first_position .. first_position + n - 1; `bytes` is the size of their bodies, for readers who bound their memory.
CREATE TABLE turnledger.batch (
    book           integer NOT NULL,
    n              integer NOT NULL,
    first_position bigint  NOT NULL,
    cid            bigint  NOT NULL,
    first_version  bigint  NOT NULL,
    bytes          bigint  NOT NULL,
    committed_at   bigint  NOT NULL,
    PRIMARY KEY (book, first_position),
    CONSTRAINT batch_version UNIQUE (cid, first_version)
);

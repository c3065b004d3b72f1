-- Conversation views: disposable, folded from events (DESIGN.md 6).

-- How far a conversation is folded; `revision` counts its commits, for readers who look twice. A pause names the
-- event that the fold could not take.
CREATE TABLE conversation_view (
    vid           INTEGER PRIMARY KEY,
    tenant        TEXT    NOT NULL,
    id            TEXT    NOT NULL,
    book          INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    pause_version INTEGER,
    pause_event   TEXT,
    pause_reason  TEXT,
    UNIQUE (tenant, id)
);

-- What the fold remembers, a record each; those with `data` (a JSON object) are rows of the view, in the order of
-- `place`. key = (vid << 35) + (first << 3) + kind: kinds are 0 lane, 1 turn, 2 assistant, 3 tool, 4 user, 5 note,
-- 6 orphan; `first` is the version that made the record. `turn` is the first version of its turn, `lane` the agent id
-- ('' for the main one), `name` the turn, step or tool call id. `watch`: 1 changes with its turn, 2 may still run.
CREATE TABLE conversation_row (
    key   INTEGER PRIMARY KEY,
    vid   INTEGER NOT NULL,
    kind  INTEGER NOT NULL,
    first INTEGER NOT NULL,
    place BLOB    NOT NULL,
    turn  INTEGER,
    lane  TEXT    NOT NULL,
    name  TEXT,
    watch INTEGER NOT NULL,
    data  BLOB,
    state BLOB    NOT NULL
);
CREATE INDEX conversation_row_place ON conversation_row (vid, place);
CREATE INDEX conversation_row_name ON conversation_row (vid, name, kind) WHERE name IS NOT NULL;
CREATE INDEX conversation_row_watch ON conversation_row (vid, turn) WHERE watch > 0;

-- The last position of each book whose events are in the views.
CREATE TABLE projection_tracking (
    application_name TEXT    PRIMARY KEY,
    notification_id  INTEGER NOT NULL
) WITHOUT ROWID;

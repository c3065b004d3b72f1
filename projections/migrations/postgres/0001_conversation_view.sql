-- Conversation views: disposable, folded from events (DESIGN.md 6).

-- How far a conversation is folded; `revision` counts its commits, for readers who look twice. A pause names the
-- event that the fold could not take.
CREATE TABLE turnledger.conversation_view (
    vid           bigint  PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant        text    COLLATE "C" NOT NULL,
    id            text    COLLATE "C" NOT NULL,
    book          integer NOT NULL,
    version       bigint  NOT NULL,
    revision      bigint  NOT NULL,
    pause_version bigint,
    pause_event   text,
    pause_reason  text,
    UNIQUE (tenant, id)
) WITH (fillfactor = 70);

-- What the fold remembers, a record each; those with `data` (a JSON object) are rows of the view, in the order of
-- `place`. key = (vid << 35) + (first << 3) + kind: kinds are 0 lane, 1 turn, 2 assistant, 3 tool, 4 user, 5 note,
-- 6 orphan; `first` is the version that made the record. `turn` is the first version of its turn, `lane` the agent id
-- ('' for the main one), `name` the turn, step or tool call id. `watch`: 1 changes with its turn, 2 may still run.
CREATE TABLE turnledger.conversation_row (
    key   bigint   PRIMARY KEY,
    vid   bigint   NOT NULL,
    kind  smallint NOT NULL,
    first bigint   NOT NULL,
    place bytea    NOT NULL,
    turn  bigint,
    lane  text     COLLATE "C" NOT NULL,
    name  text     COLLATE "C",
    watch smallint NOT NULL,
    data  bytea,
    state bytea    NOT NULL
);
CREATE INDEX conversation_row_place ON turnledger.conversation_row (vid, place);
CREATE INDEX conversation_row_name ON turnledger.conversation_row (vid, name, kind) WHERE name IS NOT NULL;
CREATE INDEX conversation_row_watch ON turnledger.conversation_row (vid, turn) WHERE watch > 0;

-- The last position of each book whose events are in the views.
CREATE TABLE turnledger.projection_tracking (
    application_name text   COLLATE "C" PRIMARY KEY,
    notification_id  bigint NOT NULL
) WITH (fillfactor = 50);

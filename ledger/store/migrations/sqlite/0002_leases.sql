-- Turns in progress (DESIGN.md 4, 5): who may write a lane now, and what streams and is no event yet.

-- One row a lane that is held, or whose holder died. `fence` is what `conversation.fence` was raised to when it was
-- taken; `lane` is the sub-agent, '' for the main one; `token` is the holder's own secret, `process` tells its machine
-- and process where that can be found out; `first_version` is where its turn begins. Times are microseconds UTC.
CREATE TABLE lease (
    cid           INTEGER NOT NULL,
    lane          TEXT    NOT NULL,
    fence         INTEGER NOT NULL,
    turn_id       TEXT    NOT NULL,
    holder        TEXT    NOT NULL,
    process       TEXT    NOT NULL,
    token         TEXT    NOT NULL,
    since         INTEGER NOT NULL,
    deadline      INTEGER NOT NULL,
    first_version INTEGER NOT NULL,
    PRIMARY KEY (cid, lane)
) WITHOUT ROWID;

-- The text so far of blocks that stream, in pieces: `event` (the event that it will be, without its text) stands with
-- piece 0, `piece` is a JSON string. Rows go when the block is an event, or its turn is recovered.
CREATE TABLE checkpoint (
    cid        INTEGER NOT NULL,
    fence      INTEGER NOT NULL,
    block      INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    event      BLOB,
    piece      BLOB    NOT NULL,
    written_at INTEGER NOT NULL,
    PRIMARY KEY (cid, fence, block, part)
) WITHOUT ROWID;

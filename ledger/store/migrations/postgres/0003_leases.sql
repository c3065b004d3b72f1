-- Turns in progress (DESIGN.md 4, 5): who may write a lane now, and what streams and is no event yet.

-- One row a lane that is held, or whose holder died. `fence` is what `conversation.fence` was raised to when it was
-- taken; `lane` is the sub-agent, '' for the main one; `token` is the holder's own secret, `process` tells its machine
-- and process where that can be found out; `first_version` is where its turn begins. Times are microseconds UTC.
CREATE TABLE turnledger.lease (
    cid           bigint NOT NULL,
    lane          text   COLLATE "C" NOT NULL,
    fence         bigint NOT NULL,
    turn_id       text   NOT NULL,
    holder        text   NOT NULL,
    process       text   NOT NULL,
    token         text   NOT NULL,
    since         bigint NOT NULL,
    deadline      bigint NOT NULL,
    first_version bigint NOT NULL,
    PRIMARY KEY (cid, lane)
) WITH (fillfactor = 70);

-- The text so far of blocks that stream, in pieces: `event` (the event that it will be, without its text) stands with
-- piece 0, `piece` is a JSON string. Rows go when the block is an event, or its turn is recovered.
CREATE TABLE turnledger.checkpoint (
    cid        bigint  NOT NULL,
    fence      bigint  NOT NULL,
    block      integer NOT NULL,
    part       integer NOT NULL,
    event      bytea,
    piece      bytea   NOT NULL,
    written_at bigint  NOT NULL,
    PRIMARY KEY (cid, fence, block, part)
);

-- append_v1 again, now fenced: `_fence` is the conversation's as the writer saw it, together with the leases that were
-- held then. It changes whenever a lease is taken or given back, so a writer whose lease is gone, or who does not know
-- of one, finds that the conversation does not stand there (TL001), looks again, and is refused.
DROP FUNCTION turnledger.append_v1(bigint, text, text, integer, bigint, bigint, bytea, bigint, bigint,
                                   text[], text[], bytea[], bytea[], bytea[]);
CREATE FUNCTION turnledger.append_v1(
    _cid            bigint,
    _tenant         text,
    _id             text,
    _book           integer,
    _source_cid     bigint,
    _version        bigint,
    _head           bytea,
    _fence          bigint,
    _recorded_at    bigint,
    _bytes          bigint,
    _ids            text[],
    _types          text[],
    _headers        bytea[],
    _heads          bytea[],
    _bodies         bytea[],
    OUT cid         bigint,
    OUT last_position bigint
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    _n integer := cardinality(_ids);
    _standing text;
BEGIN
    IF _cid IS NULL THEN
        INSERT INTO turnledger.conversation
            (tenant, id, book, version, head, created_at, recorded_at, source_cid, source_version)
        VALUES (_tenant, _id, _book, _version + _n, _heads[_n], _recorded_at, _recorded_at, _source_cid,
                CASE WHEN _source_cid IS NOT NULL THEN _version END)
        ON CONFLICT (tenant, id) DO NOTHING
        RETURNING conversation.cid INTO _cid;
    ELSE
        UPDATE turnledger.conversation c
        SET version = _version + _n, head = _heads[_n], recorded_at = _recorded_at
        WHERE c.cid = _cid AND c.version = _version AND c.head = _head AND c.fence = _fence
        RETURNING c.cid INTO _cid;
    END IF;
    IF _cid IS NULL THEN
        SELECT concat(c.cid, ' ', c.version) INTO _standing
        FROM turnledger.conversation c WHERE c.tenant = _tenant AND c.id = _id;
        RAISE EXCEPTION 'conversation % of tenant % does not stand at version %', _id, _tenant, _version
            USING ERRCODE = 'TL001', DETAIL = coalesce(_standing, 'there is none');
    END IF;

    -- Set-returning functions side by side: as a table of rows they would be written out in between.
    INSERT INTO turnledger.event (cid, version, id, type, header, head, body)
    SELECT _cid, _version + generate_subscripts(_ids, 1), unnest(_ids), unnest(_types), unnest(_headers),
           unnest(_heads), unnest(_bodies);

    UPDATE turnledger.book b SET position = b.position + _n WHERE b.book = _book
    RETURNING b.position INTO last_position;

    INSERT INTO turnledger.batch (book, first_position, cid, first_version, n, bytes, committed_at)
    VALUES (_book, last_position - _n + 1, _cid, _version + 1, _n, _bytes,
            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    cid := _cid;
END
$$;

-- append_v1: store one sealed batch, whole or not at all, in one round trip.
--
-- The caller says where the conversation stood (version and head; no cid for a new one) and brings the rows: plain
-- parallel arrays, one element an event. Order of locks: the conversation first, its book last; so writers to
-- different books never wait for each other, and positions follow the order of commits.
--
-- Raises TL001 when the conversation does not stand there (any more), with "cid version" of where it stands in the
-- detail; and unique_violation on event_id when an id is stored already.
CREATE FUNCTION turnledger.append_v1(
    _cid            bigint,
    _tenant         text,
    _id             text,
    _book           integer,
    _source_cid     bigint,
    _version        bigint,
    _head           bytea,
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
        WHERE c.cid = _cid AND c.version = _version AND c.head = _head
        RETURNING c.cid INTO _cid;
    END IF;
    IF _cid IS NULL THEN
        SELECT concat(c.cid, ' ', c.version) INTO _standing
        FROM turnledger.conversation c WHERE c.tenant = _tenant AND c.id = _id;
        RAISE EXCEPTION 'conversation % of tenant % does not stand at version %', _id, _tenant, _version
            USING ERRCODE = 'TL001', DETAIL = coalesce(_standing, 'there is none');
    END IF;

    INSERT INTO turnledger.event (cid, version, id, type, header, head, body)
    SELECT _cid, _version + e.n, e.id, e.type, e.header, e.head, e.body
    FROM unnest(_ids, _types, _headers, _heads, _bodies) WITH ORDINALITY
        AS e (id, type, header, head, body, n);

    UPDATE turnledger.book b SET position = b.position + _n WHERE b.book = _book
    RETURNING b.position INTO last_position;

    INSERT INTO turnledger.batch (book, first_position, cid, first_version, n, bytes, committed_at)
    VALUES (_book, last_position - _n + 1, _cid, _version + 1, _n, _bytes,
            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    cid := _cid;
END
$$;

-- What the PostgreSQL engine says. Everything lies in the schema turnledger; appends go through append_v1.

-- name: own_row
-- The ledger's own row: how many books it was made with.
SELECT books FROM turnledger.ledger WHERE one

-- name: make_own_row
-- Made with the ledger, once.
INSERT INTO turnledger.ledger (books, created_at) VALUES (:books, :now)

-- name: make_books
-- The books, numbered from 0, each empty.
INSERT INTO turnledger.book (book, position) SELECT n, 0 FROM generate_series(0, :books::integer - 1) AS n

-- name: conversation_by_id
-- How a conversation stands.
SELECT cid, tenant, id, book, version, head, created_at, recorded_at, fence, source_cid, source_version
FROM turnledger.conversation WHERE tenant = :tenant AND id = :id

-- name: conversation_by_cid
-- The same, by key: the source of a branch.
SELECT cid, tenant, id, book, version, head, created_at, recorded_at, fence, source_cid, source_version
FROM turnledger.conversation WHERE cid = :cid

-- name: conversations_by_id
-- A page of a tenant's conversations whose ids start with `prefix`, by id.
SELECT c.cid, c.tenant, c.id, c.book, c.version, c.head, c.created_at, c.recorded_at, c.fence, c.source_cid,
       c.source_version, s.id
FROM turnledger.conversation c LEFT JOIN turnledger.conversation s ON s.cid = c.source_cid
WHERE c.tenant = :tenant AND c.id > :after AND substr(c.id, 1, length(:prefix::text)) = :prefix::text
ORDER BY c.id LIMIT :limit

-- name: conversations_by_time
-- The same, the last written first.
SELECT c.cid, c.tenant, c.id, c.book, c.version, c.head, c.created_at, c.recorded_at, c.fence, c.source_cid,
       c.source_version, s.id
FROM turnledger.conversation c LEFT JOIN turnledger.conversation s ON s.cid = c.source_cid
WHERE c.tenant = :tenant AND (c.recorded_at < :recorded_at OR (c.recorded_at = :recorded_at AND c.cid < :cid))
  AND substr(c.id, 1, length(:prefix::text)) = :prefix::text
ORDER BY c.recorded_at DESC, c.cid DESC LIMIT :limit

-- name: all_conversations
-- A page of all tenants' conversations, by key: the audit's way through them.
SELECT cid, tenant, id, book, version, head, created_at, recorded_at, fence, source_cid, source_version
FROM turnledger.conversation WHERE cid > :after ORDER BY cid LIMIT :limit

-- name: head_at
-- The chain's head after one event.
SELECT head FROM turnledger.event WHERE cid = :cid AND version = :version

-- name: known
-- Where event ids of a conversation are stored, and what under them; one look into the index an id.
SELECT e.id, e.version, e.body, b.first_position + e.version - b.first_version
FROM unnest(:ids::text[]) AS k (id)
CROSS JOIN LATERAL (
    SELECT version, id, body FROM turnledger.event WHERE cid = :cid AND event.id = k.id COLLATE "C"
) e
CROSS JOIN LATERAL (
    SELECT first_position, first_version FROM turnledger.batch
    WHERE cid = :cid AND first_version <= e.version ORDER BY first_version DESC LIMIT 1
) b

-- name: batches_of_conversation
-- The batches that hold the versions after `after`, up to `upto`, in order.
SELECT first_version, first_position, n, bytes FROM turnledger.batch
WHERE cid = :cid AND first_version <= :upto
  AND first_version >= coalesce(
      (SELECT max(first_version) FROM turnledger.batch WHERE cid = :cid AND first_version <= :after + 1), 0)
ORDER BY first_version

-- name: events_of_conversation
-- The events of the versions after `after`, up to `upto`.
SELECT version, id, type, header, body, erased FROM turnledger.event
WHERE cid = :cid AND version > :after AND version <= :upto ORDER BY version

-- name: evidence
-- The same as the audit wants them, with the heads that the chain reached.
SELECT e.version, e.id, e.type, e.header, e.head, e.body, e.erased,
    (SELECT b.first_position + e.version - b.first_version FROM turnledger.batch b
     WHERE b.cid = e.cid AND b.first_version <= e.version AND e.version < b.first_version + b.n
     ORDER BY b.first_version DESC LIMIT 1)
FROM turnledger.event e
WHERE e.cid = :cid AND e.version > :after AND e.version <= :upto ORDER BY e.version

-- name: versions
-- Which versions are there, and the size of each.
SELECT version, coalesce(octet_length(body), 0) FROM turnledger.event
WHERE cid = :cid AND version > :after ORDER BY version LIMIT :limit

-- name: books
-- The last position of each book.
SELECT book, position FROM turnledger.book ORDER BY book

-- name: batches_of_book
-- The batches that hold the positions after `after`, up to `upto`, in order.
SELECT first_position, first_version, n, bytes FROM turnledger.batch
WHERE book = :book AND first_position <= :upto
  AND first_position >= coalesce(
      (SELECT max(first_position) FROM turnledger.batch WHERE book = :book AND first_position <= :after + 1), 0)
ORDER BY first_position

-- name: book_ends
-- The last position of each book by its last batch, whatever the counter says.
SELECT book, coalesce((
    SELECT first_position + n - 1 FROM turnledger.batch
    WHERE batch.book = book.book ORDER BY first_position DESC LIMIT 1
), 0)
FROM turnledger.book ORDER BY book

-- name: batch_log
-- The batches after one, in order: the audit's way through a book.
SELECT first_position, n, cid, first_version FROM turnledger.batch
WHERE book = :book AND first_position > :after ORDER BY first_position LIMIT :limit

-- name: batch_holds
-- How many of a batch's events are there, at the positions that it says.
SELECT count(*) FROM turnledger.event
WHERE cid = :cid AND version >= :first_version AND version < :first_version + :n AND :first_position > 0

-- name: events_at
-- Whose events no batch holds, in the conversations of a book: slow, for the audit when it found a hole.
SELECT c.tenant, c.id, min(e.version) FROM turnledger.event e JOIN turnledger.conversation c ON c.cid = e.cid
WHERE c.book = :book AND NOT EXISTS (
    SELECT FROM turnledger.batch b
    WHERE b.cid = e.cid AND b.first_version <= e.version AND e.version < b.first_version + b.n
)
GROUP BY c.cid ORDER BY 1, 2

-- name: events_of_book
-- The events of the positions after `after`, up to `upto`, of one tenant (NULL: of all). The batches come
-- first and lead to their events, whatever the planner thinks of table sizes; the reader puts them in order.
SELECT b.first_position + e.version - b.first_version, c.tenant, c.id, e.version, e.id, e.type, e.header,
       e.body, e.erased
FROM (
    SELECT cid, first_position, first_version, n FROM turnledger.batch
    WHERE book = :book AND first_position <= :upto
      AND first_position >= coalesce(
          (SELECT max(first_position) FROM turnledger.batch WHERE book = :book AND first_position <= :after + 1), 0)
    ORDER BY first_position
) b
JOIN turnledger.conversation c ON c.cid = b.cid AND (:tenant::text IS NULL OR c.tenant = :tenant)
CROSS JOIN LATERAL (
    SELECT version, id, type, header, body, erased FROM turnledger.event
    WHERE cid = b.cid
      AND version >= b.first_version + greatest(0, :after + 1 - b.first_position)
      AND version < b.first_version + least(b.n, :upto + 1 - b.first_position)
    ORDER BY version
) e

-- name: migrations
-- The last step of each component's tables.
SELECT component, max(number) FROM turnledger.migration GROUP BY component

-- name: make_migration_table
-- What was applied, and when (microseconds UTC).
CREATE TABLE IF NOT EXISTS turnledger.migration (
    component text NOT NULL, number integer NOT NULL, name text NOT NULL, applied_at bigint NOT NULL,
    PRIMARY KEY (component, number)
)

-- name: add_migration
-- A step that was applied.
INSERT INTO turnledger.migration (component, number, name, applied_at) VALUES (:component, :number, :name, :now)

-- name: make_schema
-- Before the first migration.
CREATE SCHEMA IF NOT EXISTS turnledger

-- name: lock_schema
-- One at a time changes the schema: of several that start at once the others wait here. The number is "turnledg".
SELECT pg_advisory_xact_lock(8391739299265340519)

-- name: has_migration_table
-- Whether our migration table is there, and whether anything else is in our schema.
SELECT to_regclass('turnledger.migration') IS NOT NULL,
       EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('turnledger') AND relname <> 'migration')

-- name: lock_conversation
-- How a conversation stands, while nobody else can move it.
SELECT cid, tenant, id, book, version, head, created_at, recorded_at, fence, source_cid, source_version
FROM turnledger.conversation WHERE tenant = :tenant AND id = :id FOR UPDATE

-- name: append
-- One sealed batch, in one round trip; prepared by append_call.py, which knows the parameters' types.
SELECT cid, last_position
FROM turnledger.append_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)

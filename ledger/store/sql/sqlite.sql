-- What the SQLite engine says. An event's place is (cid << 32) + version.

-- name: own_row
-- The ledger's own row: how many books it was made with.
SELECT books FROM ledger WHERE one = 1

-- name: make_own_row
-- Made with the ledger, once.
INSERT INTO ledger (one, id, books, created_at) VALUES (1, randomblob(16), :books, :now)

-- name: make_books
-- The books, numbered from 0, each empty.
WITH RECURSIVE number (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < :books)
INSERT INTO book (book) SELECT n FROM number

-- name: conversation_by_id
-- How a conversation stands.
SELECT cid, tenant, id, book, version, head, created_at, recorded_at, fence, source_cid, source_version
FROM conversation WHERE tenant = :tenant AND id = :id

-- name: conversation_by_cid
-- The same, by key: the source of a branch.
SELECT cid, tenant, id, book, version, head, created_at, recorded_at, fence, source_cid, source_version
FROM conversation WHERE cid = :cid

-- name: conversations_by_id
-- A page of a tenant's conversations whose ids start with `prefix`, by id.
SELECT c.cid, c.tenant, c.id, c.book, c.version, c.head, c.created_at, c.recorded_at, c.fence, c.source_cid,
       c.source_version, s.id
FROM conversation c LEFT JOIN conversation s ON s.cid = c.source_cid
WHERE c.tenant = :tenant AND c.id > :after AND substr(c.id, 1, length(:prefix)) = :prefix
ORDER BY c.id LIMIT :limit

-- name: conversations_by_time
-- The same, the last written first.
SELECT c.cid, c.tenant, c.id, c.book, c.version, c.head, c.created_at, c.recorded_at, c.fence, c.source_cid,
       c.source_version, s.id
FROM conversation c LEFT JOIN conversation s ON s.cid = c.source_cid
WHERE c.tenant = :tenant AND (c.recorded_at < :recorded_at OR (c.recorded_at = :recorded_at AND c.cid < :cid))
  AND substr(c.id, 1, length(:prefix)) = :prefix
ORDER BY c.recorded_at DESC, c.cid DESC LIMIT :limit

-- name: all_conversations
-- A page of all tenants' conversations, by key: the audit's way through them.
SELECT cid, tenant, id, book, version, head, created_at, recorded_at, fence, source_cid, source_version
FROM conversation WHERE cid > :after ORDER BY cid LIMIT :limit

-- name: head_at
-- The chain's head after one event.
SELECT head FROM event WHERE place = (:cid << 32) + :version

-- name: known
-- What is stored under an event id of a conversation, and where.
SELECT id, place & 4294967295, body, position FROM event WHERE place >> 32 = :cid AND id = :id

-- name: events_of_conversation
-- The events of the versions after `after`, up to `upto`, in order. Bytes are read as bytes, whatever damage made of
-- them.
SELECT place & 4294967295, id, type, coalesce(CAST(header AS BLOB), x''), CAST(body AS BLOB), CAST(erased AS BLOB),
       position
FROM event
WHERE place > (:cid << 32) + :after AND place <= (:cid << 32) + :upto ORDER BY place

-- name: evidence
-- The same as the audit wants them, with the heads that the chain reached.
SELECT place & 4294967295, id, type, coalesce(CAST(header AS BLOB), x''), coalesce(CAST(head AS BLOB), x''),
       CAST(body AS BLOB), CAST(erased AS BLOB), CAST(position AS INTEGER)
FROM event
WHERE place > (:cid << 32) + :after AND place <= (:cid << 32) + :upto ORDER BY place

-- name: versions
-- Which versions are there, and the size of each.
SELECT place & 4294967295, coalesce(length(body), 0) FROM event
WHERE place > (:cid << 32) + :after AND place < (:cid + 1) << 32 ORDER BY place LIMIT :limit

-- name: books
-- The last position of each book: that of its last batch.
SELECT book, coalesce((
    SELECT first_position + n - 1 FROM batch WHERE batch.book = book.book ORDER BY first_position DESC LIMIT 1
), 0)
FROM book ORDER BY book

-- name: book_ends
-- The same on this engine, as the audit asks for it.
SELECT book, coalesce((
    SELECT first_position + n - 1 FROM batch WHERE batch.book = book.book ORDER BY first_position DESC LIMIT 1
), 0)
FROM book ORDER BY book

-- name: batch_log
-- The batches after one, in order: the audit's way through a book.
SELECT first_position, n, cid, first_version FROM batch
WHERE book = :book AND first_position > :after ORDER BY first_position LIMIT :limit

-- name: batch_holds
-- How many of a batch's events are there, at the positions that it says.
SELECT count(*) FROM event
WHERE place >= (:cid << 32) + :first_version AND place < (:cid << 32) + :first_version + :n
  AND position = :first_position + (place & 4294967295) - :first_version

-- name: events_at
-- Whose events say that they stand at these positions of a book: slow, for the audit when it found a hole.
SELECT c.tenant, c.id, min(e.place & 4294967295) FROM event e JOIN conversation c ON c.cid = e.place >> 32
WHERE c.book = :book AND e.position >= :first AND e.position <= :last GROUP BY c.cid ORDER BY 1, 2

-- name: events_of_book
-- The events of the positions after `after`, up to `upto`, of one tenant (NULL: of all), in order. The batches come
-- first and lead to their events.
SELECT e.position, c.tenant, c.id, e.place & 4294967295, e.id, e.type, coalesce(CAST(e.header AS BLOB), x''),
       CAST(e.body AS BLOB), CAST(e.erased AS BLOB)
FROM batch b
CROSS JOIN conversation c
CROSS JOIN event e
WHERE b.book = :book AND b.first_position <= :upto
  AND b.first_position >= coalesce(
      (SELECT max(first_position) FROM batch WHERE book = :book AND first_position <= :after + 1), 0)
  AND c.cid = b.cid AND (:tenant IS NULL OR c.tenant = :tenant)
  AND e.place >= (b.cid << 32) + b.first_version + max(0, :after + 1 - b.first_position)
  AND e.place < (b.cid << 32) + b.first_version + min(b.n, :upto + 1 - b.first_position)
ORDER BY b.first_position, e.place

-- name: start_conversation
-- The row of a new conversation, as it stands after its first batch.
INSERT INTO conversation
    (tenant, id, book, version, head, created_at, recorded_at, source_cid, source_version)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: move_conversation
-- The row after one more batch, if it stands where the writer thought.
UPDATE conversation SET version = ?, head = ?, recorded_at = ? WHERE cid = ? AND version = ? AND head = ? AND fence = ?

-- name: add_event
-- One event.
INSERT INTO event (place, id, type, position, header, head, body) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: last_position
-- The last position of a book; no row for an empty one.
SELECT first_position + n - 1 FROM batch WHERE book = ? ORDER BY first_position DESC LIMIT 1

-- name: add_batch
-- Where a batch stands in its book and in its conversation.
INSERT INTO batch (book, first_position, cid, first_version, n, committed_at) VALUES (?, ?, ?, ?, ?, ?)

-- name: migrations
-- The last step of each component's tables.
SELECT component, max(number) FROM migration GROUP BY component

-- name: make_migration_table
-- What was applied, and when (microseconds UTC).
CREATE TABLE IF NOT EXISTS migration (
    component TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, applied_at INTEGER NOT NULL,
    PRIMARY KEY (component, number)
)

-- name: add_migration
-- A step that was applied.
INSERT INTO migration (component, number, name, applied_at) VALUES (:component, :number, :name, :now)

-- name: integrity
-- What SQLite itself finds wrong with the file: one row "ok", or what is.
PRAGMA integrity_check(20)

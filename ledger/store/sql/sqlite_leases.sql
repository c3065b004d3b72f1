-- What the SQLite engine says about turns in progress.

-- name: leases
-- The leases of a conversation.
SELECT lane, fence, turn_id, holder, process, token, since, deadline, first_version FROM lease WHERE cid = :cid

-- name: all_leases
-- All leases of a tenant, or of one of its conversations; the oldest first.
SELECT c.id, l.lane, l.fence, l.turn_id, l.holder, l.process, l.token, l.since, l.deadline, l.first_version
FROM lease l JOIN conversation c ON c.cid = l.cid
WHERE c.tenant = :tenant AND (:id IS NULL OR c.id = :id) ORDER BY l.since, c.id, l.lane

-- name: lock_conversation
-- How a conversation stands; on SQLite a write transaction holds everything.
SELECT cid, tenant, id, book, version, head, created_at, recorded_at, fence, source_cid, source_version
FROM conversation WHERE tenant = :tenant AND id = :id

-- name: raise_fence
-- The conversation's leases change: whoever knew them must look again.
UPDATE conversation SET fence = :fence WHERE cid = :cid

-- name: take_lease
-- A lane is held.
INSERT INTO lease (cid, lane, fence, turn_id, holder, process, token, since, deadline, first_version)
VALUES (:cid, :lane, :fence, :turn_id, :holder, :process, :token, :since, :deadline, :first_version)

-- name: renew_lease
-- Its holder goes on.
UPDATE lease SET deadline = :deadline WHERE cid = :cid AND lane = :lane AND fence = :fence AND token = :token

-- name: end_lease
-- A lease ends; where `deadline` is given, only while it is still that one: its holder did not go on meanwhile.
DELETE FROM lease
WHERE cid = :cid AND lane = :lane AND fence = :fence AND (:deadline IS NULL OR deadline = :deadline)

-- name: add_checkpoint
-- More text of a block that streams, while its turn's lease is there.
INSERT OR REPLACE INTO checkpoint (cid, fence, block, part, event, piece, written_at)
SELECT :cid, :fence, :block, :part, :event, :piece, :now
WHERE EXISTS (SELECT 1 FROM lease WHERE cid = :cid AND lane = :lane AND fence = :fence)

-- name: drop_checkpoint
-- A block that is an event now.
DELETE FROM checkpoint WHERE cid = :cid AND fence = :fence AND block = :block

-- name: drop_checkpoints
-- All of a turn.
DELETE FROM checkpoint WHERE cid = :cid AND fence = :fence

-- name: checkpoints
-- What a turn streamed, in order.
SELECT block, part, event, piece, written_at FROM checkpoint WHERE cid = :cid AND fence = :fence ORDER BY block, part

-- name: block_events
-- Blocks and terminals of a conversation from a version on, by their headers: what a dead turn already has.
SELECT place & 4294967295, type, header FROM event
WHERE place >= (:cid << 32) + :first AND place < (:cid + 1) << 32
  AND type IN ('thinking_complete', 'text_complete', 'complete', 'abort', 'error') ORDER BY place

-- name: event_body
-- One event's salt and JSON bytes.
SELECT body FROM event WHERE place = (:cid << 32) + :version

-- name: last_contexts
-- The newest events of a conversation that tell which context is in force.
SELECT body FROM event
WHERE place >= :cid << 32 AND place < (:cid + 1) << 32 AND type IN ('context', 'step_start')
ORDER BY place DESC LIMIT :limit

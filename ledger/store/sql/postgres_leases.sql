-- What the PostgreSQL engine says about turns in progress.

-- name: leases
-- The leases of a conversation.
SELECT lane, fence, turn_id, holder, process, token, since, deadline, first_version
FROM turnledger.lease WHERE cid = :cid

-- name: all_leases
-- All leases of a tenant, or of one of its conversations; the oldest first.
SELECT c.id, l.lane, l.fence, l.turn_id, l.holder, l.process, l.token, l.since, l.deadline, l.first_version
FROM turnledger.lease l JOIN turnledger.conversation c ON c.cid = l.cid
WHERE c.tenant = :tenant AND (:id::text IS NULL OR c.id = :id) ORDER BY l.since, c.id, l.lane

-- name: clock
-- The server's clock, which all holders share: microseconds UTC.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint

-- name: raise_fence
-- The conversation's leases change: whoever knew them must look again.
UPDATE turnledger.conversation SET fence = :fence WHERE cid = :cid

-- name: take_lease
-- A lane is held.
INSERT INTO turnledger.lease (cid, lane, fence, turn_id, holder, process, token, since, deadline, first_version)
VALUES (:cid, :lane, :fence, :turn_id, :holder, :process, :token, :since, :deadline, :first_version)

-- name: renew_lease
-- Its holder goes on.
UPDATE turnledger.lease SET deadline = :deadline
WHERE cid = :cid AND lane = :lane AND fence = :fence AND token = :token

-- name: end_lease
-- A lease ends; where `deadline` is given, only while it is still that one: its holder did not go on meanwhile.
DELETE FROM turnledger.lease
WHERE cid = :cid AND lane = :lane AND fence = :fence AND (:deadline::bigint IS NULL OR deadline = :deadline)

-- name: add_checkpoint
-- More text of a block that streams, while its turn's lease is there.
INSERT INTO turnledger.checkpoint (cid, fence, block, part, event, piece, written_at)
SELECT :cid, :fence, :block, :part, :event, :piece, :now
WHERE EXISTS (SELECT FROM turnledger.lease WHERE cid = :cid AND lane = :lane AND fence = :fence)
ON CONFLICT (cid, fence, block, part) DO UPDATE SET piece = excluded.piece, written_at = excluded.written_at

-- name: drop_checkpoint
-- A block that is an event now.
DELETE FROM turnledger.checkpoint WHERE cid = :cid AND fence = :fence AND block = :block

-- name: drop_checkpoints
-- All of a turn.
DELETE FROM turnledger.checkpoint WHERE cid = :cid AND fence = :fence

-- name: checkpoints
-- What a turn streamed, in order.
SELECT block, part, event, piece, written_at FROM turnledger.checkpoint
WHERE cid = :cid AND fence = :fence ORDER BY block, part

-- name: block_events
-- Blocks and terminals of a conversation from a version on, by their headers: what a dead turn already has.
SELECT version, type, header FROM turnledger.event
WHERE cid = :cid AND version >= :first
  AND type IN ('thinking_complete', 'text_complete', 'complete', 'abort', 'error') ORDER BY version

-- name: event_body
-- One event's salt and JSON bytes.
SELECT body FROM turnledger.event WHERE cid = :cid AND version = :version

-- name: last_contexts
-- The newest events of a conversation that tell which context is in force.
SELECT body FROM turnledger.event WHERE cid = :cid AND type IN ('context', 'step_start')
ORDER BY version DESC LIMIT :limit

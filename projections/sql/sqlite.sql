-- What the projections say to SQLite. Kinds: 0 lane, 1 turn, 2 assistant, 3 tool, 4 user, 5 note, 6 orphan.

-- name: version_of_event
-- Where an event id of a conversation is stored.
SELECT place & 4294967295 FROM event WHERE place >> 32 = :cid AND id = :id

-- name: view_by_id
-- How far a conversation is folded.
SELECT vid, version, revision, pause_version, pause_event, pause_reason FROM conversation_view
WHERE tenant = :tenant AND id = :id

-- name: views
-- All conversations with rows, a page of them.
SELECT vid, tenant, id, version FROM conversation_view WHERE vid > :after ORDER BY vid LIMIT :limit

-- name: paused
-- The conversations that wait at an event.
SELECT tenant, id, pause_version, pause_event, pause_reason FROM conversation_view
WHERE pause_version IS NOT NULL ORDER BY tenant, id

-- name: make_view
-- A conversation that is folded for the first time.
INSERT INTO conversation_view (tenant, id, book, version, revision, pause_version, pause_event, pause_reason)
VALUES (:tenant, :id, :book, :version, 1, :pause_version, :pause_event, :pause_reason)
ON CONFLICT (tenant, id) DO NOTHING RETURNING vid

-- name: move_view
-- A conversation folded further, if nobody else was quicker.
UPDATE conversation_view SET version = :version, revision = revision + 1, pause_version = :pause_version,
       pause_event = :pause_event, pause_reason = :pause_reason
WHERE vid = :vid AND revision = :revision

-- name: drop_view
-- A conversation that is no more.
DELETE FROM conversation_view WHERE vid = :vid

-- name: drop_rows
-- All that is remembered of a conversation.
DELETE FROM conversation_row WHERE key >= :vid << 35 AND key < (:vid + 1) << 35

-- name: put_row
-- A record, new or changed.
INSERT INTO conversation_row (key, vid, kind, first, place, turn, lane, name, watch, data, state)
VALUES (:key, :vid, :kind, :first, :place, :turn, :lane, :name, :watch, :data, :state)
ON CONFLICT (key) DO UPDATE SET place = excluded.place, watch = excluded.watch, data = excluded.data,
    state = excluded.state

-- name: move_rows
-- Rows go with the tool row that they stand behind.
UPDATE conversation_row SET place = CAST(:new || substr(place, :length + 1) AS BLOB)
WHERE vid = :vid AND place >= :old AND place < :beyond

-- name: all_rows
-- The view in order.
SELECT key, place, data FROM conversation_row WHERE vid = :vid AND data IS NOT NULL ORDER BY place

-- name: last_rows
-- The end of the view, the last row first.
SELECT key, place, data FROM conversation_row WHERE vid = :vid AND data IS NOT NULL ORDER BY place DESC LIMIT :limit

-- name: record
-- One record.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row WHERE key = :key

-- name: records_at
-- The records that the event at one version made: kinds 3 to 6.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE key BETWEEN :key + 3 AND :key + 6

-- name: lane
-- What is remembered of an agent.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE vid = :vid AND name = :name AND kind = 0

-- name: turns_named
-- The turns of one id, of all agents.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE vid = :vid AND name = :name AND kind = 1 ORDER BY key

-- name: step_named
-- The step of one id in one turn.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE vid = :vid AND name = :name AND kind = 2 AND turn = :turn

-- name: latest_step
-- The last started step of one id.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE vid = :vid AND name = :name AND kind = 2 ORDER BY key DESC LIMIT 1

-- name: calls_named
-- The calls of one id, of all agents.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE vid = :vid AND name = :name AND kind = 3 ORDER BY key

-- name: group_before
-- The legacy groups of an agent that began at or before a version, the last one first.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE key <= :key AND key >= :vid << 35 AND kind = 2 AND name IS NULL AND lane = :lane
ORDER BY key DESC LIMIT 3

-- name: running
-- The calls of an agent that may still run.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE vid = :vid AND watch > 0 AND watch & 2 = 2 AND lane = :lane ORDER BY key

-- name: watched
-- The steps whose rows change with their turn.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE vid = :vid AND turn = :turn AND watch > 0 AND kind = 2

-- name: between
-- All records in a range of places.
SELECT key, kind, first, place, turn, lane, name, data, state FROM conversation_row
WHERE vid = :vid AND place >= :start AND place < :beyond ORDER BY place

-- name: names
-- Which of these names there are, and of what.
SELECT DISTINCT kind, name FROM conversation_row
WHERE vid = :vid AND name IN (SELECT value FROM json_each(:names))

-- name: tracking
-- The last position taken of a book.
SELECT notification_id FROM projection_tracking WHERE application_name = :name

-- name: trackings
-- The last positions taken, of all books.
SELECT application_name, notification_id FROM projection_tracking

-- name: make_tracking
-- A book that is followed for the first time.
INSERT INTO projection_tracking (application_name, notification_id) VALUES (:name, 0)
ON CONFLICT (application_name) DO NOTHING

-- name: move_tracking
-- The next position, if nobody else was quicker.
UPDATE projection_tracking SET notification_id = :new WHERE application_name = :name AND notification_id = :old

-- name: raise_tracking
-- The next position, if it is one.
UPDATE projection_tracking SET notification_id = :new WHERE application_name = :name AND notification_id < :new

-- name: reset_tracking
-- Every book from the beginning.
UPDATE projection_tracking SET notification_id = 0

-- name: drop_all_rows
-- All rows of all conversations.
DELETE FROM conversation_row

-- name: drop_all_views
-- All conversations.
DELETE FROM conversation_view

-- Tickets: one place in one line each.

-- name: tickets_by_id
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND ticket_id = ?2;

-- name: waiting_places
-- Where everybody stands who waits in a line, in the order of calling: from the index alone.
SELECT venue_id, queue_id, day, round, priority, sequence
FROM tickets
WHERE venue_id = ?1 AND queue_id = ?2 AND day = ?3 AND round = ?4 AND state = 'waiting'
ORDER BY priority DESC, sequence;

-- name: tickets_by_open_key
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM tickets AS t
WHERE t.venue_id = ?1 AND t.open_key = ?2;

-- name: latest_issues
-- When a mobile number was given its latest numbers. Others than mobile numbers do not begin with a plus.
SELECT venue_id, visitor, issued_at
FROM tickets
WHERE venue_id = ?1 AND visitor = ?2 AND visitor >= '+' AND visitor < ','
ORDER BY issued_at DESC
LIMIT ?3;

-- name: tickets_waiting
-- The first people of the queue's newest line, in the order of calling. The line is a scalar subquery: after a
-- join, SQLite would sort the whole line.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND queue_id = ?2 AND state = 'waiting'
    AND (day, round) = (
        SELECT day, round FROM lines
        WHERE venue_id = ?1 AND queue_id = ?2
        ORDER BY day DESC, round DESC
        LIMIT 1
    )
ORDER BY priority DESC, sequence
LIMIT ?3;

-- name: tickets_longest
-- Who has waited longest in the queue's newest line, whatever their place in it. Beside `min`, SQLite takes all
-- columns from the row that has it: nothing is sorted. By any other index it would read who was served, too.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets INDEXED BY tickets_waiting
WHERE venue_id = ?1 AND queue_id = ?2 AND state = 'waiting'
    AND (day, round) = (
        SELECT day, round FROM lines
        WHERE venue_id = ?1 AND queue_id = ?2
        ORDER BY day DESC, round DESC
        LIMIT 1
    )
GROUP BY venue_id, queue_id, day, round
HAVING min(coalesce(rejoined_at, issued_at)) IS NOT NULL;

-- name: tickets_ended
-- Tickets left open in lines before this one: of earlier days all, of earlier rounds who was not called.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND queue_id = ?2 AND day <= ?3
    AND coalesce(open_key, '') <> ''
    AND (day < ?3 OR (round < ?4 AND state IN ('waiting', 'held', 'missed')))
LIMIT ?5;

-- name: change_tickets
UPDATE tickets SET
    priority = ?8,
    sequence = ?9,
    state = ?10,
    open_key = ?12,
    visit_id = ?13,
    version = ?15,
    desk_id = ?16,
    recalls = ?17,
    called_at = ?18,
    recalled_at = ?19,
    started_at = ?20,
    finished_at = ?21,
    missed_at = ?22,
    rejoined_at = ?23,
    held_at = ?24,
    resumed_at = ?25,
    left_at = ?26,
    expired_at = ?27,
    previous = ?29,
    name = ?30,
    party_size = ?31,
    area = ?32,
    stage = ?33,
    prioritized_at = ?34,
    extended_at = ?35
WHERE venue_id = ?1 AND ticket_id = ?2;

-- name: add_tickets
INSERT INTO tickets (
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
    ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35
);

-- name: tickets_open
-- Those of a line who are not done and in some states, behind one place of it, in the order of calling: a page of them.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND queue_id = ?2 AND day = ?3 AND round = ?4
    AND coalesce(open_key, '') <> '' AND instr(' ' || ?7 || ' ', ' ' || state || ' ') > 0
    AND priority <= ?5 AND (priority < ?5 OR sequence > ?6)
ORDER BY priority DESC, sequence
LIMIT ?8;

-- name: tickets_at_desk
-- Who was called to a desk, or is being served there.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND desk_id = ?2 AND (state = 'called' OR state = 'serving');

-- name: tickets_by_number
-- Who has a number on a day, in whichever round.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM lines
CROSS JOIN tickets AS t
WHERE lines.venue_id = ?1 AND lines.queue_id = ?2 AND lines.day = ?3
    AND t.venue_id = ?1 AND t.queue_id = ?2 AND t.day = ?3 AND t.round = lines.round AND t.number = ?4;

-- name: tickets_by_name
-- Who is called so in a line, by the whole of what the door knows them by or a part of their name.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND queue_id = ?2 AND day = ?3 AND round = ?4
    AND (visitor = ?5 OR instr(lower(name), lower(?5)) > 0)
ORDER BY number DESC
LIMIT ?6;

-- name: tickets_in_states
-- Those of a line in some states, done or not, below a number, the highest first: a page of them.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND queue_id = ?2 AND day = ?3 AND round = ?4 AND number < ?5
    AND instr(' ' || ?6 || ' ', ' ' || state || ' ') > 0
ORDER BY number DESC
LIMIT ?7;

-- name: tickets_called
-- The latest calls of a day in all queues, called again or not. Who was finished without one was called and started at
-- the same moment.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND day = ?2 AND called_at IS NOT NULL AND started_at IS NOT called_at
ORDER BY max(called_at, coalesce(recalled_at, called_at)) DESC
LIMIT ?3;

-- name: tickets_aside
-- Those of a line who are held, or who missed their call: the latest first.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND queue_id = ?2 AND day = ?3 AND round = ?4 AND state = ?5
    AND (state = 'held' OR state = 'missed')
ORDER BY version DESC
LIMIT ?6;

-- name: tickets_left_desk
-- What was done last at a desk to those who are not there any more: the latest first.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND coalesce(desk_id, json_extract(previous, '$.desk_id')) = ?2
    AND coalesce(desk_id, json_extract(previous, '$.desk_id')) IS NOT NULL
    AND state <> 'called' AND state <> 'serving' AND state <> 'expired'
ORDER BY version DESC
LIMIT ?3;

-- name: tickets_found
-- Those of a line who wait, are held or missed their call and are meant by a text, in the order of calling.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND queue_id = ?2 AND day = ?3 AND round = ?4
    AND coalesce(open_key, '') <> '' AND state <> 'called' AND state <> 'serving'
    AND (visitor = ?5 OR instr(lower(label), lower(?5)) > 0 OR instr(lower(name), lower(?5)) > 0)
ORDER BY priority DESC, sequence
LIMIT ?6;

-- name: tickets_noted
-- Those of a line whose visit has a note with a text in it. By any other index every visit would be read.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM visits AS v INDEXED BY visits_noted
CROSS JOIN tickets AS t
WHERE v.venue_id = ?1 AND v.note IS NOT NULL AND v.state = 'open' AND instr(lower(v.note), lower(?5)) > 0
    AND t.venue_id = ?1 AND t.ticket_id = v.ticket_id AND t.queue_id = ?2 AND t.day = ?3 AND t.round = ?4
LIMIT ?6;

-- name: tickets_finished_in
-- A visitor's finished tickets of a day in one queue, the latest first.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND visitor = ?2 AND day = ?3 AND open_key IS NULL AND queue_id = ?4 AND state = 'finished'
ORDER BY version DESC
LIMIT 100;

-- name: tickets_ended_stages
-- The latest of a visitor's tickets of a day that belongs to a journey and has ended.
SELECT
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
FROM tickets
WHERE venue_id = ?1 AND visitor = ?2 AND day = ?3 AND open_key IS NULL AND stage IS NOT NULL
ORDER BY version DESC
LIMIT 1;

-- name: redate_tickets
-- All of one line, to the line that it becomes.
UPDATE tickets SET day = ?5, round = ?6
WHERE venue_id = ?1 AND queue_id = ?2 AND day = ?3 AND round = ?4 AND number > 0;

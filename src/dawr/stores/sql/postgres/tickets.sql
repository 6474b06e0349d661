-- Tickets: one place in one line each.

-- name: tickets_by_id
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[]) AS k (venue_id, ticket_id)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.ticket_id = k.ticket_id
    LIMIT 1
) AS t;

-- name: waiting_places
-- Where everybody stands who waits in a line, in the order of calling: from the index alone.
SELECT k.venue_id, k.queue_id, k.day, k.round, t.priority, t.sequence
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS k (venue_id, queue_id, day, round)
CROSS JOIN LATERAL (
    SELECT s.priority, s.sequence FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day = k.day AND s.round = k.round
        AND s.state = 'waiting'
    ORDER BY s.priority DESC, s.sequence
) AS t;

-- name: tickets_by_open_key
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[]) AS k (venue_id, open_key)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.open_key = k.open_key
    LIMIT 1
) AS t;

-- name: latest_issues
-- When a mobile number was given its latest numbers. Others than mobile numbers do not begin with a plus.
SELECT k.venue_id, k.visitor, t.issued_at
FROM unnest($1::text[], $2::text[], $3::int[]) AS k (venue_id, visitor, most)
CROSS JOIN LATERAL (
    SELECT s.issued_at FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.visitor = k.visitor AND left(s.visitor, 1) = '+'
    ORDER BY s.issued_at DESC
    LIMIT k.most
) AS t;

-- name: tickets_waiting
-- The first people of the queue's newest line, in the order of calling.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::int[]) AS k (venue_id, queue_id, depth)
CROSS JOIN LATERAL (
    SELECT day, round FROM lines AS l
    WHERE l.venue_id = k.venue_id AND l.queue_id = k.queue_id
    ORDER BY l.day DESC, l.round DESC
    LIMIT 1
) AS newest
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id
        AND s.day = newest.day AND s.round = newest.round AND s.state = 'waiting'
    ORDER BY s.priority DESC, s.sequence
    LIMIT k.depth
) AS t;

-- name: tickets_longest
-- Who has waited longest in the queue's newest line, whatever their place in it.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[]) AS k (venue_id, queue_id)
CROSS JOIN LATERAL (
    SELECT day, round FROM lines AS l
    WHERE l.venue_id = k.venue_id AND l.queue_id = k.queue_id
    ORDER BY l.day DESC, l.round DESC
    LIMIT 1
) AS newest
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id
        AND s.day = newest.day AND s.round = newest.round AND s.state = 'waiting'
    ORDER BY coalesce(s.rejoined_at, s.issued_at)
    LIMIT 1
) AS t;

-- name: tickets_ended
-- Tickets left open in lines before this one: of earlier days all, of earlier rounds who was not called.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[]) AS k (venue_id, queue_id, day, round, step)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day <= k.day
        AND coalesce(s.open_key, '') <> ''
        AND (s.day < k.day OR (s.round < k.round AND s.state IN ('waiting', 'held', 'missed')))
    LIMIT k.step
) AS t;

-- name: change_tickets
UPDATE tickets AS t SET
    priority = c.priority,
    sequence = c.sequence,
    state = c.state,
    open_key = c.open_key,
    visit_id = c.visit_id,
    version = c.version,
    desk_id = c.desk_id,
    recalls = c.recalls,
    called_at = c.called_at,
    recalled_at = c.recalled_at,
    started_at = c.started_at,
    finished_at = c.finished_at,
    missed_at = c.missed_at,
    rejoined_at = c.rejoined_at,
    held_at = c.held_at,
    resumed_at = c.resumed_at,
    left_at = c.left_at,
    expired_at = c.expired_at,
    previous = c.previous,
    name = c.name,
    party_size = c.party_size,
    area = c.area,
    stage = c.stage,
    prioritized_at = c.prioritized_at,
    extended_at = c.extended_at
FROM (
    SELECT * FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::int[], $7::text[],
        $8::int[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[],
        $15::bigint[], $16::text[], $17::int[], $18::bigint[], $19::bigint[], $20::bigint[],
        $21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[], $25::bigint[], $26::bigint[],
        $27::bigint[], $28::text[], $29::text[], $30::text[], $31::int[], $32::text[],
        $33::int[], $34::bigint[], $35::bigint[]
    ) AS c (
        venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state,
        visitor, open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at,
        started_at, finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at,
        from_ticket_id, previous, name, party_size, area, stage, prioritized_at, extended_at
    )
) AS c
WHERE t.venue_id = c.venue_id AND t.ticket_id = c.ticket_id;

-- name: add_tickets
INSERT INTO tickets (
    venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
    open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at,
    finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id,
    previous, name, party_size, area, stage, prioritized_at, extended_at
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::int[], $7::text[], $8::int[],
    $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[],
    $16::text[], $17::int[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[],
    $22::bigint[], $23::bigint[], $24::bigint[], $25::bigint[], $26::bigint[], $27::bigint[],
    $28::text[], $29::text[], $30::text[], $31::int[], $32::text[],
        $33::int[], $34::bigint[], $35::bigint[]
);

-- name: tickets_open
-- Those of a line who are not done and in some states, behind one place of it, in the order of calling: a page of them.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[], $6::bigint[], $7::text[], $8::int[])
    AS k (venue_id, queue_id, day, round, priority, sequence, states, step)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day = k.day AND s.round = k.round
        AND coalesce(s.open_key, '') <> '' AND s.state = ANY (string_to_array(k.states, ' '))
        AND s.priority <= k.priority AND (s.priority < k.priority OR s.sequence > k.sequence)
    ORDER BY s.priority DESC, s.sequence
    LIMIT k.step
) AS t;

-- name: tickets_at_desk
-- Who was called to a desk, or is being served there.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[]) AS k (venue_id, desk_id)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.desk_id = k.desk_id AND (s.state = 'called' OR s.state = 'serving')
    ORDER BY s.sequence
) AS t;

-- name: tickets_by_number
-- Who has a number on a day, in whichever round. Asked for as the first that is not below it, or an empty table would
-- be searched by another index.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS k (venue_id, queue_id, day, number)
CROSS JOIN LATERAL (
    SELECT l.round FROM lines AS l
    WHERE l.venue_id = k.venue_id AND l.queue_id = k.queue_id AND l.day = k.day
    ORDER BY l.round
) AS l
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day = k.day
        AND s.round = l.round AND s.number >= k.number
    ORDER BY s.number
    LIMIT 1
) AS t
WHERE t.number = k.number;

-- name: tickets_by_name
-- Who is called so in a line, by the whole of what the door knows them by or a part of their name.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::int[])
    AS k (venue_id, queue_id, day, round, wanted, step)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day = k.day AND s.round = k.round
        AND (s.visitor = k.wanted OR position(lower(k.wanted) IN lower(s.name)) > 0)
    ORDER BY s.number DESC
    LIMIT k.step
) AS t;

-- name: tickets_in_states
-- Those of a line in some states, done or not, below a number, the highest first: a page of them.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[], $6::text[], $7::int[])
    AS k (venue_id, queue_id, day, round, below, states, step)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day = k.day AND s.round = k.round
        AND s.number < k.below AND s.state = ANY (string_to_array(k.states, ' '))
    ORDER BY s.number DESC
    LIMIT k.step
) AS t;

-- name: tickets_called
-- The latest calls of a day in all queues, called again or not. Who was finished without one was called and started at
-- the same moment.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::int[]) AS k (venue_id, day, step)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.day = k.day AND s.called_at IS NOT NULL
        AND s.started_at IS DISTINCT FROM s.called_at
    ORDER BY greatest(s.called_at, s.recalled_at) DESC
    LIMIT k.step
) AS t;

-- name: tickets_aside
-- Those of a line who are held, or who missed their call: the latest first.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::int[])
    AS k (venue_id, queue_id, day, round, state, step)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day = k.day AND s.round = k.round
        AND s.state = k.state AND (s.state = 'held' OR s.state = 'missed')
    ORDER BY s.version DESC
    LIMIT k.step
) AS t;

-- name: tickets_left_desk
-- What was done last at a desk to those who are not there any more: the latest first.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::int[]) AS k (venue_id, desk_id, step)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND coalesce(s.desk_id, s.previous::jsonb ->> 'desk_id') = k.desk_id
        AND coalesce(s.desk_id, s.previous::jsonb ->> 'desk_id') IS NOT NULL
        AND s.state <> 'called' AND s.state <> 'serving' AND s.state <> 'expired'
    ORDER BY s.version DESC
    LIMIT k.step
) AS t;

-- name: tickets_found
-- Those of a line who wait, are held or missed their call and are meant by a text, in the order of calling.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::int[])
    AS k (venue_id, queue_id, day, round, wanted, step)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day = k.day AND s.round = k.round
        AND coalesce(s.open_key, '') <> '' AND s.state <> 'called' AND s.state <> 'serving'
        AND (
            s.visitor = k.wanted
            OR position(lower(k.wanted) IN lower(s.label)) > 0
            OR position(lower(k.wanted) IN lower(s.name)) > 0
        )
    ORDER BY s.priority DESC, s.sequence
    LIMIT k.step
) AS t;

-- name: tickets_noted
-- Those of a line whose visit has a note with a text in it.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::int[])
    AS k (venue_id, queue_id, day, round, wanted, step)
CROSS JOIN LATERAL (
    SELECT s.* FROM visits AS n
    CROSS JOIN LATERAL (
        SELECT * FROM tickets AS o
        WHERE o.venue_id = n.venue_id AND o.ticket_id = n.ticket_id
        LIMIT 1
    ) AS s
    WHERE n.venue_id = k.venue_id AND n.note IS NOT NULL AND n.state = 'open'
        AND position(lower(k.wanted) IN lower(n.note)) > 0
        AND s.queue_id = k.queue_id AND s.day = k.day AND s.round = k.round
    LIMIT k.step
) AS t;

-- name: tickets_finished_in
-- A visitor's finished tickets of a day in one queue, the latest first.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k (venue_id, visitor, day, queue_id)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.visitor = k.visitor AND s.day = k.day AND s.open_key IS NULL
        AND s.queue_id = k.queue_id AND s.state = 'finished'
    ORDER BY s.version DESC
    LIMIT 100
) AS t;

-- name: tickets_ended_stages
-- The latest of a visitor's tickets of a day that belongs to a journey and has ended.
SELECT
    t.venue_id, t.ticket_id, t.queue_id, t.day, t.round, t.number, t.label, t.priority, t.sequence,
    t.state, t.visitor, t.open_key, t.visit_id, t.issued_at, t.version, t.desk_id, t.recalls,
    t.called_at, t.recalled_at, t.started_at, t.finished_at, t.missed_at, t.rejoined_at, t.held_at,
    t.resumed_at, t.left_at, t.expired_at, t.from_ticket_id, t.previous,
    t.name, t.party_size, t.area, t.stage, t.prioritized_at, t.extended_at
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (venue_id, visitor, day)
CROSS JOIN LATERAL (
    SELECT * FROM tickets AS s
    WHERE s.venue_id = k.venue_id AND s.visitor = k.visitor AND s.day = k.day AND s.open_key IS NULL AND s.stage IS NOT NULL
    ORDER BY s.version DESC
    LIMIT 1
) AS t;

-- name: redate_tickets
-- All of one line, to the line that it becomes.
UPDATE tickets SET day = ($5::text[])[1], round = ($6::int[])[1]
WHERE ctid = ANY (ARRAY(
    SELECT t.ctid
    FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS k (venue_id, queue_id, day, round)
    CROSS JOIN LATERAL (
        SELECT s.ctid FROM tickets AS s
        WHERE s.venue_id = k.venue_id AND s.queue_id = k.queue_id AND s.day = k.day AND s.round = k.round
            AND s.number > 0
        ORDER BY s.number
        OFFSET 0
    ) AS t
));

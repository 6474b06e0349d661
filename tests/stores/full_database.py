"""A database that has been in use: venues, days and queues, most tickets ended, some open, some of mobile numbers.

Some visits have plans or notes; there are PINs, desks that people sit at, and alarms, most of which have rung.
"""

TICKETS = 20_000

_TICKET = f"""
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {TICKETS}),
    ticket AS (
        SELECT
            i,
            'venue-' || (i % 4) AS venue_id,
            'queue-' || (i % 5) AS queue_id,
            '2026-03-' || (10 + i % 15) AS day,
            CASE WHEN i % 4 = 1 THEN '+9743300' || i ELSE 'visitor-' || i END AS visitor,
            CASE
                WHEN i % 15 <> 14 AND i % 50 <> 0 THEN 'finished'
                WHEN i % 3 = 0 THEN 'called'
                WHEN i % 7 = 0 THEN 'held'
                WHEN i % 11 = 0 THEN 'missed'
                ELSE 'waiting'
            END AS state
        FROM n
    )
"""

FILL = (
    """INSERT INTO venues (venue_id, slug, document)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
    SELECT 'venue-' || i, 'slug-' || i, '{}' FROM n""",
    """INSERT INTO heads (venue_id, epoch, day, version, config_version)
    SELECT venue_id, 1, '2026-03-24', 1, 1 FROM venues""",
    f"""INSERT INTO tickets (
        venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
        open_key, visit_id, issued_at, version, recalls, desk_id
    )
    {_TICKET}
    SELECT
        venue_id, 'ticket-' || i, queue_id, day, 1, i, 'A' || i, i % 2, i, state, visitor,
        CASE WHEN state = 'finished' THEN NULL ELSE queue_id || ':' || visitor END, 'visit-' || i, i, i, 0,
        'desk-' || (i % 20)
    FROM ticket""",
    """INSERT INTO lines (
        venue_id, queue_id, day, round, last_number, used_before, waiting, called, serving, held, missed,
        finished, calls, waits_ms, services_ms
    )
    SELECT venue_id, queue_id, day, round, max(number), 0, '[0,0,0,0]', 0, 0, 0, 0, 0, 0, 0, 0
    FROM tickets GROUP BY venue_id, queue_id, day, round""",
    """INSERT INTO visits (venue_id, visit_id, secret_hash, visitor, state, started_at, open_key, note, ticket_id)
    SELECT
        venue_id, visit_id, 'hash-of-' || visit_id, visitor, 'open', issued_at,
        CASE WHEN number % 100 = 0 THEN visitor END, CASE WHEN number % 200 = 0 THEN 'A note' END, ticket_id
    FROM tickets""",
    """INSERT INTO events (venue_id, version, kind, at, queue_id, ticket_id, data)
    SELECT venue_id, sequence, 'ticket.issued', issued_at, queue_id, ticket_id, '{}' FROM tickets""",
    f"""INSERT INTO idempotency (scope, principal, key, fingerprint, state, fence, status, body, expires_at)
    {_TICKET}
    SELECT venue_id || '/enter', 'anonymous', 'key-' || i, 'f', 'completed', 0, 201, CAST('{{}}' AS BYTES), i
    FROM ticket""",
    f"""INSERT INTO accounts (account_id, username, password_hash, created_at)
    {_TICKET}
    SELECT 'account-' || i, 'name-' || i, 'hash', i FROM ticket""",
    f"""INSERT INTO sessions (session_hash, account_id, created_at, seen_at, expires_at)
    {_TICKET}
    SELECT 'session-' || i, 'account-' || (i % 500), i, i, i FROM ticket""",
    f"""INSERT INTO staff (venue_id, account_id, username, role, added_at)
    {_TICKET}
    SELECT 'venue-' || (i % 300), 'account-' || i, 'name-' || i, 'staff', i FROM ticket""",
    f"""INSERT INTO tokens (venue_id, token_id, secret_hash, kind, role, name, made_by, made_at)
    {_TICKET}
    SELECT 'venue-' || (i % 300), 'token-' || i, 'hash', 'api', 'staff', 'A program', 'name-1', i FROM ticket""",
    """INSERT INTO pins (venue_id, queue_id, day, pin, made_at, rotated, failures)
    SELECT venue_id, queue_id, max(day), '07', 1, '[]', '[]' FROM lines GROUP BY venue_id, queue_id""",
    f"""INSERT INTO desks (venue_id, desk_id, state, since, misses)
    {_TICKET}
    SELECT 'venue-' || (i % 300), 'desk-' || i, 'closed', i, 0 FROM ticket""",
    f"""INSERT INTO alarms (venue_id, kind, subject, due_at)
    {_TICKET}
    SELECT venue_id, 'miss', 'ticket-' || i, CASE WHEN i % 10 = 0 THEN i END FROM ticket""",
    """INSERT INTO overtakings (venue_id, day, sums)
    SELECT DISTINCT venue_id, day, '{}' FROM lines""",
)

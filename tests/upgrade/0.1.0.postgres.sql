-- A filled database of Dawr 0.1.0, made by tests/upgrade/fill.py. Never edited.

CREATE TABLE IF NOT EXISTS migrations (
    owner text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at bigint NOT NULL,
    PRIMARY KEY (owner, number)
);

-- Venues, and the numbers they give: each once, by constraint and not by hope.
-- Times are milliseconds since 1970 UTC, days are ISO dates, documents are JSON.
-- Room is left in the pages of rows that change, so that a change stays in its page.

CREATE TABLE installation (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    is_copy integer NOT NULL DEFAULT 0,
    home text -- the database it lives in: in another one it is a copy, and begins new epochs
);
INSERT INTO installation (only_row) VALUES (1);

CREATE TABLE venues (
    venue_id text COLLATE "C" PRIMARY KEY,
    slug text COLLATE "C" NOT NULL UNIQUE,
    document text NOT NULL
);

-- The only row that is locked. Nobody's foreign-key parent.
CREATE TABLE heads (
    venue_id text COLLATE "C" PRIMARY KEY,
    epoch bigint NOT NULL,
    day text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    config_version bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE lines (
    venue_id text COLLATE "C" NOT NULL,
    queue_id text COLLATE "C" NOT NULL,
    day text COLLATE "C" NOT NULL,
    round integer NOT NULL,
    last_number integer NOT NULL,
    used_before integer NOT NULL,
    waiting text NOT NULL, -- counts by priority
    called integer NOT NULL,
    serving integer NOT NULL,
    held integer NOT NULL,
    missed integer NOT NULL,
    finished integer NOT NULL,
    current_number integer,
    calls integer NOT NULL,
    waits_ms bigint NOT NULL,
    services_ms bigint NOT NULL,
    PRIMARY KEY (venue_id, queue_id, day, round)
) WITH (fillfactor = 70);

CREATE TABLE visits (
    venue_id text COLLATE "C" NOT NULL,
    visit_id text COLLATE "C" NOT NULL,
    secret_hash text COLLATE "C" NOT NULL,
    visitor text NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'finished', 'left')),
    started_at bigint NOT NULL,
    finished_at bigint,
    left_at bigint,
    PRIMARY KEY (venue_id, visit_id)
);

CREATE TABLE tickets (
    venue_id text COLLATE "C" NOT NULL,
    ticket_id text COLLATE "C" NOT NULL,
    queue_id text COLLATE "C" NOT NULL,
    day text COLLATE "C" NOT NULL,
    round integer NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    label text NOT NULL,
    priority integer NOT NULL,
    sequence bigint NOT NULL,
    state text NOT NULL CHECK (
        state IN ('waiting', 'called', 'serving', 'held', 'missed', 'finished', 'left', 'expired')
    ),
    visitor text NOT NULL,
    open_key text COLLATE "C",
    visit_id text COLLATE "C" NOT NULL,
    issued_at bigint NOT NULL,
    version bigint NOT NULL,
    desk_id text,
    recalls integer NOT NULL,
    called_at bigint,
    recalled_at bigint,
    started_at bigint,
    finished_at bigint,
    missed_at bigint,
    rejoined_at bigint,
    held_at bigint,
    resumed_at bigint,
    left_at bigint,
    expired_at bigint,
    from_ticket_id text,
    previous text,
    CHECK ((open_key IS NULL) = (state IN ('finished', 'left', 'expired')))
) WITH (fillfactor = 85);
-- The order matters: while the table is empty all indexes cost the same, and the planner takes the newest
-- one that fits. Each statement's own index is therefore newer than the others that it could use.
CREATE UNIQUE INDEX tickets_each_number_once ON tickets (venue_id, queue_id, day, round, number);
ALTER TABLE tickets ADD PRIMARY KEY (venue_id, ticket_id);
-- Said in a way that only `tickets_ended` says it: no other statement may take this index for its own and read
-- a whole line, as they would in a table that was never analysed.
CREATE INDEX tickets_open ON tickets (venue_id, queue_id, day, round) WHERE coalesce(open_key, '') <> '';
CREATE INDEX tickets_waiting ON tickets (venue_id, queue_id, day, round, priority DESC, sequence)
WHERE state = 'waiting';
CREATE UNIQUE INDEX tickets_one_open_per_visitor ON tickets (venue_id, open_key) WHERE open_key IS NOT NULL;

CREATE TABLE events (
    venue_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    kind text NOT NULL,
    at bigint NOT NULL,
    queue_id text COLLATE "C",
    ticket_id text COLLATE "C",
    actor text,
    correlation_id text,
    reason text,
    data text NOT NULL,
    PRIMARY KEY (venue_id, version)
);

-- Who may: accounts and their sessions, which belong to no venue; staff and tokens, which do.
-- No password, session, token or code is here: only what each can be recognised by.

CREATE TABLE accounts (
    account_id text COLLATE "C" PRIMARY KEY,
    username text COLLATE "C" NOT NULL UNIQUE,
    password_hash text NOT NULL,
    created_at bigint NOT NULL,
    disabled_at bigint
);

CREATE TABLE sessions (
    session_hash text COLLATE "C" PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    expires_at bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE staff (
    venue_id text COLLATE "C" NOT NULL,
    account_id text COLLATE "C" NOT NULL,
    username text COLLATE "C" NOT NULL,
    role text NOT NULL CHECK (role IN ('viewer', 'staff', 'manager', 'owner')),
    added_at bigint NOT NULL,
    disabled_at bigint,
    PRIMARY KEY (venue_id, account_id)
);
CREATE INDEX staff_by_account ON staff (account_id);

CREATE TABLE tokens (
    venue_id text COLLATE "C" NOT NULL,
    token_id text COLLATE "C" NOT NULL,
    secret_hash text COLLATE "C" NOT NULL,
    kind text NOT NULL CHECK (kind IN ('api', 'kiosk', 'display')),
    role text NOT NULL CHECK (role IN ('viewer', 'staff', 'manager', 'owner')),
    name text NOT NULL,
    made_by text NOT NULL,
    made_at bigint NOT NULL,
    revoked_at bigint,
    PRIMARY KEY (venue_id, token_id)
);

-- The code of the link that makes the first owner's account.
ALTER TABLE installation ADD COLUMN owner_code_hash text;
ALTER TABLE installation ADD COLUMN owner_code_at bigint;

-- Parties, and the way from a visit to its ticket.
-- A waiting party has a name, a size and perhaps an area; a visit names the ticket that it has come to.

ALTER TABLE tickets ADD COLUMN name text;
ALTER TABLE tickets ADD COLUMN party_size integer NOT NULL DEFAULT 1 CHECK (party_size > 0);
ALTER TABLE tickets ADD COLUMN area text;
ALTER TABLE visits ADD COLUMN ticket_id text;

-- The staff's list is read in the order of calling, page by page.
DROP INDEX tickets_open;
CREATE INDEX tickets_open ON tickets (venue_id, queue_id, day, round, priority DESC, sequence)
WHERE coalesce(open_key, '') <> '';

-- How often a mobile number joined within the last hour is counted from its tickets. The index has theirs only,
-- and nothing that a change of a ticket touches, so that other queues pay nothing for it.
CREATE INDEX tickets_by_mobile_number ON tickets (venue_id, visitor, issued_at) WHERE left(visitor, 1) = '+';

-- A retried request finds the answer that its first attempt committed.
CREATE TABLE idempotency (
    scope text COLLATE "C" NOT NULL,
    principal text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    state text NOT NULL CHECK (state IN ('started', 'completed', 'failed')),
    lease_until bigint,
    fence bigint NOT NULL,
    status integer NOT NULL,
    body bytea NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (scope, principal, key)
);

CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

-- Work that one process of many may do: whoever has the lease does it, under the number of its fence.
CREATE TABLE leases (
    name text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    fence bigint NOT NULL,
    until_at bigint NOT NULL
);

DELETE FROM installation;

INSERT INTO accounts (account_id, username, password_hash, created_at, disabled_at) VALUES
('90a4b773548286f355e29d', 'the-manager', '$argon2id$v=19$m=19456,t=2,p=1$dGhlLW1hbmFnZXIuLi4uLg$yP+23AXUJUU1a/pT++OtS2pWfXIbC3gZtes2Isgi6O0', 1772348405000, NULL),
('a6733b2885181e2b2c5eee', 'the-owner', '$argon2id$v=19$m=19456,t=2,p=1$dGhlLW93bmVyLi4uLi4uLg$DbW0AdjjHKOKfWP4MGyRKCaj0vdTQXSLY/LDqYnO4i4', 1772348406000, NULL),
('a90e671c6fa4e6213bd99a', 'the-gone', '$argon2id$v=19$m=19456,t=2,p=1$dGhlLWdvbmUuLi4uLi4uLg$MVHFsEjuRqaVrTL6D15Iqf9dR1qELCmf6TxghzO2psQ', 1772348407000, NULL),
('aa5177230732a72f55ffd6', 'owner', '$argon2id$v=19$m=19456,t=2,p=1$b3duZXIuLi4uLi4uLi4uLg$hUVCgE2HxvHBSUlEOP4cXJ+GdXRK17VsCYQO3Q9ibwc', 1772348400000, NULL),
('c36d0761a0ba5e2b674a17', 'the-staff', '$argon2id$v=19$m=19456,t=2,p=1$dGhlLXN0YWZmLi4uLi4uLg$9PgMrgR3+P7OzypLJYS536CdfBe9zeidL0oSaOAmEOE', 1772348404000, NULL),
('f8c6dc9d76a439b30f2578', 'the-viewer', '$argon2id$v=19$m=19456,t=2,p=1$dGhlLXZpZXdlci4uLi4uLg$B4awPN5/6xc2c6eNk4x6VuBuAZPYf3arGJfI1hOokMY', 1772348403000, NULL);

INSERT INTO events (venue_id, version, kind, at, queue_id, ticket_id, actor, correlation_id, reason, data) VALUES
('v8255a', 1, 'staff.added', 1772348402000, NULL, NULL, 'staff:owner', 'sample-0002', NULL, '{"username":"owner","role":"owner"}'),
('v8255a', 2, 'token.made', 1772348412000, NULL, NULL, 'staff:owner', 'sample-0012', NULL, '{"token":"v8255a-019ca832906086d1c7c5a1a6484450e9","name":"The bistro token","token_kind":"api","role":"staff"}'),
('v8255a', 3, 'ticket.issued', 1772434831000, 'waitlist', 'v8255a-019cad593698118d8d63783d534b8e9c', 'visitor', 'sample-0050', NULL, '{"number":1,"label":"R001","day":"2026-03-02","round":1,"priority":0,"sequence":3,"state":"waiting","line":{"waiting":1}}'),
('v8255a', 4, 'ticket.issued', 1772434832000, 'waitlist', 'v8255a-019cad593a8007c9da8fad1819472623', 'visitor', 'sample-0051', NULL, '{"number":2,"label":"R002","day":"2026-03-02","round":1,"priority":0,"sequence":4,"state":"waiting","line":{"waiting":2}}'),
('v8255a', 5, 'ticket.issued', 1772434833000, 'waitlist', 'v8255a-019cad593e6836f5ca10d05a806b8e73', 'visitor', 'sample-0052', NULL, '{"number":3,"label":"R003","day":"2026-03-02","round":1,"priority":0,"sequence":5,"state":"waiting","line":{"waiting":3}}'),
('v8255a', 6, 'ticket.called', 1772434834000, 'waitlist', 'v8255a-019cad593698118d8d63783d534b8e9c', 'token:v8255a-019ca832906086d1c7c5a1a6484450e9', 'sample-0053', NULL, '{"number":1,"label":"R001","day":"2026-03-02","round":1,"priority":0,"sequence":3,"state":"called","before":"waiting","line":{"waiting":2,"called":1,"current":1}}'),
('v8255a', 7, 'ticket.called', 1772434835000, 'waitlist', 'v8255a-019cad593a8007c9da8fad1819472623', 'token:v8255a-019ca832906086d1c7c5a1a6484450e9', 'sample-0054', NULL, '{"number":2,"label":"R002","day":"2026-03-02","round":1,"priority":0,"sequence":4,"state":"called","before":"waiting","line":{"waiting":1,"called":2,"current":2}}'),
('v8255a', 8, 'ticket.finished', 1772434836000, 'waitlist', 'v8255a-019cad593698118d8d63783d534b8e9c', 'token:v8255a-019ca832906086d1c7c5a1a6484450e9', 'sample-0055', NULL, '{"number":1,"label":"R001","day":"2026-03-02","round":1,"priority":0,"sequence":3,"state":"finished","before":"called","line":{"waiting":1,"called":1,"finished":1,"services_ms":2000,"current":2}}'),
('va501a', 1, 'staff.added', 1772348400000, NULL, NULL, 'first run', NULL, NULL, '{"username":"owner","role":"owner"}'),
('va501a', 2, 'staff.added', 1772348403000, NULL, NULL, 'staff:owner', 'sample-0003', NULL, '{"username":"the-viewer","role":"viewer"}'),
('va501a', 3, 'staff.added', 1772348404000, NULL, NULL, 'staff:owner', 'sample-0004', NULL, '{"username":"the-staff","role":"staff"}'),
('va501a', 4, 'staff.added', 1772348405000, NULL, NULL, 'staff:owner', 'sample-0005', NULL, '{"username":"the-manager","role":"manager"}'),
('va501a', 5, 'staff.added', 1772348406000, NULL, NULL, 'staff:owner', 'sample-0006', NULL, '{"username":"the-owner","role":"owner"}'),
('va501a', 6, 'staff.added', 1772348407000, NULL, NULL, 'staff:owner', 'sample-0007', NULL, '{"username":"the-gone","role":"staff"}'),
('va501a', 7, 'staff.disabled', 1772348408000, NULL, NULL, 'staff:owner', 'sample-0008', 'Left us', '{"username":"the-gone","role":"staff"}'),
('va501a', 8, 'token.made', 1772348409000, NULL, NULL, 'staff:owner', 'sample-0009', NULL, '{"token":"va501a-019ca83284a8df1b80eca919b1fd2697","name":"The staff token","token_kind":"api","role":"staff"}'),
('va501a', 9, 'token.made', 1772348410000, NULL, NULL, 'staff:owner', 'sample-0010', NULL, '{"token":"va501a-019ca8328890c7e422ca8d1800bf23e3","name":"The kiosk token","token_kind":"kiosk","role":"viewer"}'),
('va501a', 10, 'token.made', 1772348411000, NULL, NULL, 'staff:owner', 'sample-0011', NULL, '{"token":"va501a-019ca8328c780cbb9aac8fcb6b39c7b9","name":"The display token","token_kind":"display","role":"viewer"}'),
('va501a', 11, 'token.made', 1772348413000, NULL, NULL, 'staff:owner', 'sample-0013', NULL, '{"token":"va501a-019ca8329448e5173ccf26cf0e0b1133","name":"The revoked token","token_kind":"api","role":"manager"}'),
('va501a', 12, 'token.revoked', 1772348414000, NULL, NULL, 'staff:owner', 'sample-0014', NULL, '{"token":"va501a-019ca8329448e5173ccf26cf0e0b1133","name":"The revoked token","token_kind":"api","role":"manager"}'),
('va501a', 13, 'ticket.issued', 1772348415000, 'lab', 'va501a-019ca8329c180cfe0206f58d9a3cba6c', 'visitor', 'sample-0015', NULL, '{"number":1,"label":"L001","day":"2026-03-01","round":1,"priority":0,"sequence":13,"state":"waiting","line":{"waiting":1}}'),
('va501a', 14, 'ticket.issued', 1772348416000, 'lab', 'va501a-019ca832a000cb16091f994dadc32594', 'visitor', 'sample-0016', NULL, '{"number":2,"label":"L002","day":"2026-03-01","round":1,"priority":0,"sequence":14,"state":"waiting","line":{"waiting":2}}'),
('va501a', 15, 'ticket.issued', 1772348417000, 'lab', 'va501a-019ca832a3e8f97d6015824e18222e8a', 'visitor', 'sample-0017', NULL, '{"number":3,"label":"L003","day":"2026-03-01","round":1,"priority":0,"sequence":15,"state":"waiting","line":{"waiting":3}}'),
('va501a', 16, 'ticket.called', 1772348418000, 'lab', 'va501a-019ca8329c180cfe0206f58d9a3cba6c', 'token:va501a-019ca83284a8df1b80eca919b1fd2697', 'sample-0018', NULL, '{"number":1,"label":"L001","day":"2026-03-01","round":1,"priority":0,"sequence":13,"state":"called","before":"waiting","desk":"room-1","line":{"waiting":2,"called":1,"current":1}}'),
('va501a', 17, 'ticket.finished', 1772348419000, 'lab', 'va501a-019ca8329c180cfe0206f58d9a3cba6c', 'staff:owner', 'sample-0019', NULL, '{"number":1,"label":"L001","day":"2026-03-01","round":1,"priority":0,"sequence":13,"state":"finished","before":"called","desk":"room-1","line":{"waiting":2,"finished":1,"services_ms":1000,"current":1}}'),
('va501a', 18, 'ticket.issued', 1772434802000, 'lab', 'va501a-019cad58c550f829ec653db1313182a3', 'visitor', 'sample-0021', NULL, '{"number":1,"label":"L001","day":"2026-03-02","round":1,"priority":0,"sequence":18,"state":"waiting","line":{"waiting":1}}'),
('va501a', 19, 'ticket.called', 1772434803000, 'lab', 'va501a-019cad58c550f829ec653db1313182a3', 'token:va501a-019ca83284a8df1b80eca919b1fd2697', 'sample-0022', NULL, '{"number":1,"label":"L001","day":"2026-03-02","round":1,"priority":0,"sequence":18,"state":"called","before":"waiting","desk":"room-1","line":{"called":1,"current":1}}'),
('va501a', 20, 'ticket.finished', 1772434804000, 'lab', 'va501a-019cad58c550f829ec653db1313182a3', 'staff:owner', 'sample-0023', NULL, '{"number":1,"label":"L001","day":"2026-03-02","round":1,"priority":0,"sequence":18,"state":"finished","before":"called","desk":"room-1","line":{"finished":1,"services_ms":1000,"current":1}}'),
('va501a', 21, 'ticket.issued', 1772434805000, 'xray', 'va501a-019cad58d1084f1be09b20043ab854f5', 'visitor', 'sample-0024', NULL, '{"number":1,"label":"X001","day":"2026-03-02","round":1,"priority":0,"sequence":21,"state":"waiting","line":{"waiting":1}}'),
('va501a', 22, 'queue.reset', 1772434806000, 'xray', NULL, 'staff:owner', 'sample-0025', 'A new round', '{"day":"2026-03-02","round":2}'),
('va501a', 23, 'ticket.expired', 1772434806000, 'xray', 'va501a-019cad58d1084f1be09b20043ab854f5', 'clock', NULL, NULL, '{"number":1,"label":"X001","day":"2026-03-02","round":1,"priority":0,"sequence":21,"state":"expired","before":"waiting","line":{}}'),
('va501a', 24, 'ticket.issued', 1772434807000, 'xray', 'va501a-019cad58d8d87fd138263b22c2beb044', 'visitor', 'sample-0026', NULL, '{"number":1,"label":"X001","day":"2026-03-02","round":2,"priority":0,"sequence":24,"state":"waiting","line":{"waiting":1}}'),
('va501a', 25, 'ticket.issued', 1772434808000, 'eye', 'va501a-019cad58dcc0789199b4179001676ff3', 'visitor', 'sample-0027', NULL, '{"number":1,"label":"001","day":"2026-03-02","round":1,"priority":0,"sequence":25,"state":"waiting","line":{"waiting":1}}'),
('va501a', 26, 'ticket.issued', 1772434809000, 'lab', 'va501a-019cad58e0a868b1ae5d188e7dd893ac', 'visitor', 'sample-0028', NULL, '{"number":2,"label":"L002","day":"2026-03-02","round":1,"priority":0,"sequence":26,"state":"waiting","line":{"waiting":1,"finished":1,"services_ms":1000,"current":1}}'),
('va501a', 27, 'ticket.issued', 1772434810000, 'lab', 'va501a-019cad58e49075fae158c0b9261c31dd', 'visitor', 'sample-0029', NULL, '{"number":3,"label":"L003","day":"2026-03-02","round":1,"priority":0,"sequence":27,"state":"waiting","line":{"waiting":2,"finished":1,"services_ms":1000,"current":1}}'),
('va501a', 28, 'ticket.issued', 1772434811000, 'lab', 'va501a-019cad58e8783e316ffc3a4068f20e93', 'visitor', 'sample-0030', NULL, '{"number":4,"label":"L004","day":"2026-03-02","round":1,"priority":0,"sequence":28,"state":"waiting","line":{"waiting":3,"finished":1,"services_ms":1000,"current":1}}'),
('va501a', 29, 'ticket.called', 1772434812000, 'lab', 'va501a-019cad58e0a868b1ae5d188e7dd893ac', 'token:va501a-019ca83284a8df1b80eca919b1fd2697', 'sample-0031', NULL, '{"number":2,"label":"L002","day":"2026-03-02","round":1,"priority":0,"sequence":26,"state":"called","before":"waiting","desk":"room-1","line":{"waiting":2,"called":1,"finished":1,"services_ms":1000,"current":2}}'),
('va501a', 30, 'ticket.called', 1772434813000, 'lab', 'va501a-019cad58e49075fae158c0b9261c31dd', 'token:va501a-019ca83284a8df1b80eca919b1fd2697', 'sample-0032', NULL, '{"number":3,"label":"L003","day":"2026-03-02","round":1,"priority":0,"sequence":27,"state":"called","before":"waiting","desk":"room-1","line":{"waiting":1,"called":2,"finished":1,"services_ms":1000,"current":3}}'),
('va501a', 31, 'ticket.called', 1772434814000, 'lab', 'va501a-019cad58e8783e316ffc3a4068f20e93', 'token:va501a-019ca83284a8df1b80eca919b1fd2697', 'sample-0033', NULL, '{"number":4,"label":"L004","day":"2026-03-02","round":1,"priority":0,"sequence":28,"state":"called","before":"waiting","desk":"room-1","line":{"called":3,"finished":1,"services_ms":1000,"current":4}}'),
('va501a', 32, 'ticket.started', 1772434815000, 'lab', 'va501a-019cad58e0a868b1ae5d188e7dd893ac', 'staff:owner', 'sample-0034', NULL, '{"number":2,"label":"L002","day":"2026-03-02","round":1,"priority":0,"sequence":26,"state":"serving","before":"called","desk":"room-1","line":{"called":2,"serving":1,"finished":1,"services_ms":1000,"current":4}}'),
('va501a', 33, 'ticket.recalled', 1772434816000, 'lab', 'va501a-019cad58e49075fae158c0b9261c31dd', 'staff:owner', 'sample-0035', NULL, '{"number":3,"label":"L003","day":"2026-03-02","round":1,"priority":0,"sequence":27,"state":"called","before":"called","desk":"room-1","line":{"called":2,"serving":1,"finished":1,"services_ms":1000,"current":4}}'),
('va501a', 34, 'ticket.missed', 1772434817000, 'lab', 'va501a-019cad58e8783e316ffc3a4068f20e93', 'staff:owner', 'sample-0036', NULL, '{"number":4,"label":"L004","day":"2026-03-02","round":1,"priority":0,"sequence":28,"state":"missed","before":"called","desk":"room-1","line":{"called":1,"serving":1,"finished":1,"services_ms":1000,"current":4}}'),
('va501a', 35, 'ticket.issued', 1772434818000, 'lab', 'va501a-019cad5903d0649bfe6ef6de981ca336', 'visitor', 'sample-0037', NULL, '{"number":5,"label":"L005","day":"2026-03-02","round":1,"priority":0,"sequence":35,"state":"waiting","line":{"waiting":1,"called":1,"serving":1,"finished":1,"services_ms":1000,"current":4}}'),
('va501a', 36, 'ticket.called', 1772434819000, 'lab', 'va501a-019cad5903d0649bfe6ef6de981ca336', 'token:va501a-019ca83284a8df1b80eca919b1fd2697', 'sample-0038', NULL, '{"number":5,"label":"L005","day":"2026-03-02","round":1,"priority":0,"sequence":35,"state":"called","before":"waiting","desk":"room-1","line":{"called":2,"serving":1,"finished":1,"services_ms":1000,"current":5}}'),
('va501a', 37, 'ticket.finished', 1772434820000, 'lab', 'va501a-019cad5903d0649bfe6ef6de981ca336', 'staff:owner', 'sample-0039', NULL, '{"number":5,"label":"L005","day":"2026-03-02","round":1,"priority":0,"sequence":35,"state":"finished","before":"called","desk":"room-1","line":{"called":1,"serving":1,"finished":2,"services_ms":2000,"current":5}}'),
('va501a', 38, 'ticket.issued', 1772434821000, 'lab', 'va501a-019cad590f881d9427a1b559ee48621a', 'visitor', 'sample-0040', NULL, '{"number":6,"label":"L006","day":"2026-03-02","round":1,"priority":0,"sequence":38,"state":"waiting","line":{"waiting":1,"called":1,"serving":1,"finished":2,"services_ms":2000,"current":5}}'),
('va501a', 39, 'ticket.held', 1772434822000, 'lab', 'va501a-019cad590f881d9427a1b559ee48621a', 'staff:owner', 'sample-0041', NULL, '{"number":6,"label":"L006","day":"2026-03-02","round":1,"priority":0,"sequence":38,"state":"held","before":"waiting","line":{"called":1,"serving":1,"finished":2,"services_ms":2000,"current":5}}'),
('va501a', 40, 'ticket.issued', 1772434823000, 'lab', 'va501a-019cad591758c295bbce3a3cbb6d517f', 'visitor', 'sample-0042', NULL, '{"number":7,"label":"L007","day":"2026-03-02","round":1,"priority":0,"sequence":40,"state":"waiting","line":{"waiting":1,"called":1,"serving":1,"finished":2,"services_ms":2000,"current":5}}'),
('va501a', 41, 'ticket.left', 1772434824000, 'lab', 'va501a-019cad591758c295bbce3a3cbb6d517f', 'staff:owner', 'sample-0043', NULL, '{"number":7,"label":"L007","day":"2026-03-02","round":1,"priority":0,"sequence":40,"state":"left","before":"waiting","line":{"called":1,"serving":1,"finished":2,"services_ms":2000,"current":5}}'),
('va501a', 42, 'ticket.issued', 1772434825000, 'lab', 'va501a-019cad591f288d42cd6c2ab1d9a51f3b', 'visitor', 'sample-0044', NULL, '{"number":8,"label":"L008","day":"2026-03-02","round":1,"priority":0,"sequence":42,"state":"waiting","line":{"waiting":1,"called":1,"serving":1,"finished":2,"services_ms":2000,"current":5}}'),
('va501a', 43, 'ticket.issued', 1772434826000, 'lab', 'va501a-019cad592310358122dc308c7a8f8e5e', 'token:va501a-019ca8328890c7e422ca8d1800bf23e3', 'sample-0045', NULL, '{"number":9,"label":"L009","day":"2026-03-02","round":1,"priority":2,"sequence":43,"state":"waiting","line":{"waiting":2,"called":1,"serving":1,"finished":2,"services_ms":2000,"current":5}}'),
('va501a', 44, 'ticket.issued', 1772434827000, 'lab', 'va501a-019cad5926f8850f484226138507ed0c', 'visitor', 'sample-0046', NULL, '{"number":10,"label":"L010","day":"2026-03-02","round":1,"priority":0,"sequence":44,"state":"waiting","line":{"waiting":3,"called":1,"serving":1,"finished":2,"services_ms":2000,"current":5}}'),
('va501a', 45, 'ticket.issued', 1772434828000, 'eye', 'va501a-019cad592ae0aa6175fc4482c91e479b', 'visitor', 'sample-0047', NULL, '{"number":2,"label":"002","day":"2026-03-02","round":1,"priority":0,"sequence":45,"state":"waiting","line":{"waiting":2}}'),
('va501a', 46, 'ticket.called', 1772434829000, 'eye', 'va501a-019cad58dcc0789199b4179001676ff3', 'token:va501a-019ca83284a8df1b80eca919b1fd2697', 'sample-0048', NULL, '{"number":1,"label":"001","day":"2026-03-02","round":1,"priority":0,"sequence":25,"state":"called","before":"waiting","line":{"waiting":1,"called":1,"current":1}}'),
('va501a', 47, 'queue.paused', 1772434830000, 'eye', NULL, 'staff:owner', 'sample-0049', NULL, '{"state":"paused"}'),
('va501a', 48, 'ticket.expired', 1772434836000, 'lab', 'va501a-019ca832a000cb16091f994dadc32594', 'clock', NULL, NULL, '{"number":2,"label":"L002","day":"2026-03-01","round":1,"priority":0,"sequence":14,"state":"expired","before":"waiting","line":{"waiting":1,"finished":1,"services_ms":1000,"current":1}}'),
('va501a', 49, 'ticket.expired', 1772434836000, 'lab', 'va501a-019ca832a3e8f97d6015824e18222e8a', 'clock', NULL, NULL, '{"number":3,"label":"L003","day":"2026-03-01","round":1,"priority":0,"sequence":15,"state":"expired","before":"waiting","line":{"finished":1,"services_ms":1000,"current":1}}');

INSERT INTO heads (venue_id, epoch, day, version, config_version) VALUES
('v8255a', 263567343659847, '2026-03-02', 8, 0),
('va501a', 141520625500214, '2026-03-02', 49, 1);

INSERT INTO idempotency (scope, principal, key, fingerprint, state, lease_until, fence, status, body, expires_at) VALUES
('va501a:call-next-from-queue', 'token:va501a-019ca83284a8df1b80eca919b1fd2697', 'a-desk-key', 'c31571ae633f63514cc074eecb7cfa6e8fbc99ceacbd7158237d6a54a95c6655', 'completed', NULL, 0, 200, '\x7b227469636b6574223a7b227469636b6574223a227661353031612d3031396361643538646363303738393139396234313739303031363736666633222c227175657565223a22636c696e69633a657965222c226e756d626572223a312c226c6162656c223a22303031222c227374617465223a2263616c6c6564222c2276697369746f72223a227661353031612d3031396361643538646363303766353361346263333462366230666534353933222c226e616d65223a6e756c6c2c2270617274795f73697a65223a312c2261726561223a6e756c6c2c227072696f72697479223a302c226465736b223a6e756c6c2c22726563616c6c73223a302c22646179223a22323032362d30332d3032222c22726f756e64223a312c2276657273696f6e223a34362c226973737565645f6174223a313737323433343830383030302c2263616c6c65645f6174223a313737323433343832393030302c22737461727465645f6174223a6e756c6c2c2266696e69736865645f6174223a6e756c6c7d2c226e6578745f6c6162656c223a22303032222c2277616974696e67223a317d', 1772607629000),
('va501a:queue/enter', 'anonymous', 'a-door-key', 'e07db2933a04db6a55d376098a43602e1804d99775087224a214b99d716e1e0e', 'completed', NULL, 0, 200, '\x7b2273756363657373223a747275652c226e756d626572223a31302c22737461747573223a2257414954494e47222c2275736572223a22646f6f72222c22636c696e6963223a226c6162222c226168656164223a322c22706f736974696f6e223a332c22657374696d617465645f776169745f6d696e75746573223a342c22646973706c61795f6e756d626572223a224c303130222c227469636b6574223a222f742f7661353031612d30313963616435393236663836613636396532336435613165316161353034612e37653932636132623139333835316231333963396530227d', 1772607627000),
('va501a:take-ticket', 'token:va501a-019ca8328890c7e422ca8d1800bf23e3', 'a-kiosk-key', '1cf0968ce1819eb07132c9363755a7369ab7427d2c8849b27f3afe900a027083', 'completed', NULL, 0, 201, '\x7b227469636b6574223a227661353031612d3031396361643539323331303335383132326463333038633761386638653565222c22706c616365223a7b227175657565223a22636c696e69633a6c6162222c226e756d626572223a392c226c6162656c223a224c303039222c227374617465223a2277616974696e67222c226168656164223a302c22706f736974696f6e223a312c22776169745f6d696e75746573223a302c226e6561725f7475726e223a747275652c226465736b223a6e756c6c2c2270617274795f73697a65223a312c22726573657276655f6d6f6465223a66616c73657d2c22616c7265616479223a66616c73652c226c696e6b223a222f742f7661353031612d30313963616435393233313066666235383431386263396163646636626663322e36376135613136363365353038373832633465633761227d', 1772607626000);

INSERT INTO installation (only_row, is_copy, home, owner_code_hash, owner_code_at) VALUES
(1, 0, NULL, NULL, NULL);

INSERT INTO leases (name, holder, fence, until_at) VALUES
('clockwork', 'a server of that time', 1, 1772434800000);

INSERT INTO lines (venue_id, queue_id, day, round, last_number, used_before, waiting, called, serving, held, missed, finished, current_number, calls, waits_ms, services_ms) VALUES
('v8255a', 'waitlist', '2026-03-02', 1, 3, 0, '[1,0,0,0]', 1, 0, 0, 0, 1, 2, 2, 6000, 2000),
('va501a', 'eye', '2026-03-02', 1, 2, 0, '[1,0,0,0]', 1, 0, 0, 0, 0, 1, 1, 21000, 0),
('va501a', 'lab', '2026-03-01', 1, 3, 0, '[0,0,0,0]', 0, 0, 0, 0, 1, 1, 1, 3000, 1000),
('va501a', 'lab', '2026-03-02', 1, 10, 0, '[2,0,1,0]', 1, 1, 1, 1, 2, 5, 5, 11000, 2000),
('va501a', 'xray', '2026-03-02', 1, 1, 0, '[0,0,0,0]', 0, 0, 0, 0, 0, NULL, 0, 0, 0),
('va501a', 'xray', '2026-03-02', 2, 1, 0, '[1,0,0,0]', 0, 0, 0, 0, 0, NULL, 0, 0, 0);

INSERT INTO migrations (owner, number, name, checksum, applied_at) VALUES
('dawr', 1, 'every_number_once', 'ea31694c7507a70dc0a55402b14f21be282be1636f66724c0c37bb63e92c1047', 1772434800000),
('dawr', 2, 'who_may', 'e94ffd1cb6c0a797fc85614e0ea8f1a7cfe6ec4220a013406460ee47eaee073b', 1772434800000),
('dawr', 3, 'parties', '14b58cd8135f6d30abe514bdddcee1cd96c310dfd5c3eedeaf61148722acf207', 1772434800000),
('dawr', 4, 'a_mobile_number_joins_so_often', '32cdd0fd0a25a6f976f6a12e91c7d4c70df6d07a3cfac08f3523af408f804510', 1772434800000),
('reliability', 1, 'one_answer_per_key', '09ae6937a9d9451060a791abe736b3c00b74cd5d1f6b6c72b9ed8cd88e95ec69', 1772434800000),
('reliability', 2, 'one_holder_at_a_time', '15184803723d3441b441430f754ca9c12b7ccea21cb3f3c80a71508d8c80b08b', 1772434800000);

INSERT INTO sessions (session_hash, account_id, created_at, seen_at, expires_at) VALUES
('5679dc1e48fb6c5bf72fbf0806b46bcc055ecda3536168d994aa1a58e4882bad', 'aa5177230732a72f55ffd6', 1772348401000, 1772348401000, 1772953201000),
('c566a26ba97c65878f345f01ced471f53febbbbb7084495e1f3992a44d38d901', 'aa5177230732a72f55ffd6', 1772434801000, 1772434801000, 1773039601000);

INSERT INTO staff (venue_id, account_id, username, role, added_at, disabled_at) VALUES
('v8255a', 'aa5177230732a72f55ffd6', 'owner', 'owner', 1772348402000, NULL),
('va501a', '90a4b773548286f355e29d', 'the-manager', 'manager', 1772348405000, NULL),
('va501a', 'a6733b2885181e2b2c5eee', 'the-owner', 'owner', 1772348406000, NULL),
('va501a', 'a90e671c6fa4e6213bd99a', 'the-gone', 'staff', 1772348407000, 1772348408000),
('va501a', 'aa5177230732a72f55ffd6', 'owner', 'owner', 1772348400000, NULL),
('va501a', 'c36d0761a0ba5e2b674a17', 'the-staff', 'staff', 1772348404000, NULL),
('va501a', 'f8c6dc9d76a439b30f2578', 'the-viewer', 'viewer', 1772348403000, NULL);

INSERT INTO tickets (venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor, open_key, visit_id, issued_at, version, desk_id, recalls, called_at, recalled_at, started_at, finished_at, missed_at, rejoined_at, held_at, resumed_at, left_at, expired_at, from_ticket_id, previous, name, party_size, area) VALUES
('v8255a', 'v8255a-019cad593698118d8d63783d534b8e9c', 'waitlist', '2026-03-02', 1, 1, 'R001', 0, 3, 'finished', '+97433000001', NULL, 'v8255a-019cad5936982141f82504390a037f0c', 1772434831000, 8, NULL, 0, 1772434834000, NULL, NULL, 1772434836000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"state":"called","finished_at":null,"open_key":"waitlist:+97433000001"}', 'Party 1', 1, NULL),
('v8255a', 'v8255a-019cad593a8007c9da8fad1819472623', 'waitlist', '2026-03-02', 1, 2, 'R002', 0, 4, 'called', '+97433000002', 'waitlist:+97433000002', 'v8255a-019cad593a80cd88c9031e2c68f776cc', 1772434832000, 7, NULL, 0, 1772434835000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"desk_id":null,"state":"waiting","called_at":null}', 'Party 2', 2, NULL),
('v8255a', 'v8255a-019cad593e6836f5ca10d05a806b8e73', 'waitlist', '2026-03-02', 1, 3, 'R003', 0, 5, 'waiting', '+97433000003', 'waitlist:+97433000003', 'v8255a-019cad593e6893aa36f6e7a52a165cbf', 1772434833000, 5, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'Party 3', 3, NULL),
('va501a', 'va501a-019ca8329c180cfe0206f58d9a3cba6c', 'lab', '2026-03-01', 1, 1, 'L001', 0, 13, 'finished', 'Sunday 1', NULL, 'va501a-019ca8329c18c5984369d4ac060e53e5', 1772348415000, 17, 'room-1', 0, 1772348418000, NULL, NULL, 1772348419000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"state":"called","finished_at":null,"open_key":"lab:Sunday 1"}', NULL, 1, NULL),
('va501a', 'va501a-019ca832a000cb16091f994dadc32594', 'lab', '2026-03-01', 1, 2, 'L002', 0, 14, 'expired', 'Sunday 2', NULL, 'va501a-019ca832a00003ce79bccf860ae8c9d9', 1772348416000, 48, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1772434836000, NULL, '{"state":"waiting","expired_at":null,"open_key":"lab:Sunday 2"}', NULL, 1, NULL),
('va501a', 'va501a-019ca832a3e8f97d6015824e18222e8a', 'lab', '2026-03-01', 1, 3, 'L003', 0, 15, 'expired', 'Sunday 3', NULL, 'va501a-019ca832a3e813869a324e9b32e529da', 1772348417000, 49, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1772434836000, NULL, '{"state":"waiting","expired_at":null,"open_key":"lab:Sunday 3"}', NULL, 1, NULL),
('va501a', 'va501a-019cad58c550f829ec653db1313182a3', 'lab', '2026-03-02', 1, 1, 'L001', 0, 18, 'finished', 'first on Monday', NULL, 'va501a-019cad58c5500cb2ae92ec752a7f9f89', 1772434802000, 20, 'room-1', 0, 1772434803000, NULL, NULL, 1772434804000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"state":"called","finished_at":null,"open_key":"lab:first on Monday"}', NULL, 1, NULL),
('va501a', 'va501a-019cad58d1084f1be09b20043ab854f5', 'xray', '2026-03-02', 1, 1, 'X001', 0, 21, 'expired', 'first round', NULL, 'va501a-019cad58d1080d56d0c3983aea176ab3', 1772434805000, 23, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1772434806000, NULL, '{"state":"waiting","expired_at":null,"open_key":"xray:first round"}', NULL, 1, NULL),
('va501a', 'va501a-019cad58d8d87fd138263b22c2beb044', 'xray', '2026-03-02', 2, 1, 'X001', 0, 24, 'waiting', 'second round', 'xray:second round', 'va501a-019cad58d8d8a8168c0a944bde0d1e45', 1772434807000, 24, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL),
('va501a', 'va501a-019cad58dcc0789199b4179001676ff3', 'eye', '2026-03-02', 1, 1, '001', 0, 25, 'called', 'va501a-019cad58dcc07f53a4bc34b6b0fe4593', 'eye:va501a-019cad58dcc07f53a4bc34b6b0fe4593', 'va501a-019cad58dcc07f53a4bc34b6b0fe4593', 1772434808000, 46, NULL, 0, 1772434829000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"desk_id":null,"state":"waiting","called_at":null}', NULL, 1, NULL),
('va501a', 'va501a-019cad58e0a868b1ae5d188e7dd893ac', 'lab', '2026-03-02', 1, 2, 'L002', 0, 26, 'serving', 'serving', 'lab:serving', 'va501a-019cad58e0a898ecf8e781039e3c6729', 1772434809000, 32, 'room-1', 0, 1772434812000, NULL, 1772434815000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"state":"called","started_at":null}', NULL, 1, NULL),
('va501a', 'va501a-019cad58e49075fae158c0b9261c31dd', 'lab', '2026-03-02', 1, 3, 'L003', 0, 27, 'called', 'called', 'lab:called', 'va501a-019cad58e4907aa7a58576371b97b390', 1772434810000, 33, 'room-1', 1, 1772434813000, 1772434816000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"recalls":0,"state":"called","recalled_at":null}', NULL, 1, NULL),
('va501a', 'va501a-019cad58e8783e316ffc3a4068f20e93', 'lab', '2026-03-02', 1, 4, 'L004', 0, 28, 'missed', 'missed', 'lab:missed', 'va501a-019cad58e87862a6b7e110308a95955d', 1772434811000, 34, 'room-1', 0, 1772434814000, NULL, NULL, NULL, 1772434817000, NULL, NULL, NULL, NULL, NULL, NULL, '{"state":"called","missed_at":null}', NULL, 1, NULL),
('va501a', 'va501a-019cad5903d0649bfe6ef6de981ca336', 'lab', '2026-03-02', 1, 5, 'L005', 0, 35, 'finished', 'finished', NULL, 'va501a-019cad5903d07126e6bebaacb3040261', 1772434818000, 37, 'room-1', 0, 1772434819000, NULL, NULL, 1772434820000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"state":"called","finished_at":null,"open_key":"lab:finished"}', NULL, 1, NULL),
('va501a', 'va501a-019cad590f881d9427a1b559ee48621a', 'lab', '2026-03-02', 1, 6, 'L006', 0, 38, 'held', 'held', 'lab:held', 'va501a-019cad590f88e0b7c138a9eeaa710645', 1772434821000, 39, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1772434822000, NULL, NULL, NULL, NULL, '{"state":"waiting","held_at":null}', NULL, 1, NULL),
('va501a', 'va501a-019cad591758c295bbce3a3cbb6d517f', 'lab', '2026-03-02', 1, 7, 'L007', 0, 40, 'left', 'left', NULL, 'va501a-019cad591758e2277b8493b2bac81f0e', 1772434823000, 41, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1772434824000, NULL, NULL, '{"state":"waiting","left_at":null,"open_key":"lab:left"}', NULL, 1, NULL),
('va501a', 'va501a-019cad591f288d42cd6c2ab1d9a51f3b', 'lab', '2026-03-02', 1, 8, 'L008', 0, 42, 'waiting', 'waiting', 'lab:waiting', 'va501a-019cad591f28779c9858ce609eb51cc7', 1772434825000, 42, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL),
('va501a', 'va501a-019cad592310358122dc308c7a8f8e5e', 'lab', '2026-03-02', 1, 9, 'L009', 2, 43, 'waiting', 'urgent', 'lab:urgent', 'va501a-019cad592310ffb58418bc9acdf6bfc2', 1772434826000, 43, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL),
('va501a', 'va501a-019cad5926f8850f484226138507ed0c', 'lab', '2026-03-02', 1, 10, 'L010', 0, 44, 'waiting', 'door', 'lab:door', 'va501a-019cad5926f86a669e23d5a1e1aa504a', 1772434827000, 44, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL),
('va501a', 'va501a-019cad592ae0aa6175fc4482c91e479b', 'eye', '2026-03-02', 1, 2, '002', 0, 45, 'waiting', 'called from the eye queue', 'eye:called from the eye queue', 'va501a-019cad592ae0132e81f00f92aaf941cf', 1772434828000, 45, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL);

INSERT INTO tokens (venue_id, token_id, secret_hash, kind, role, name, made_by, made_at, revoked_at) VALUES
('v8255a', 'v8255a-019ca832906086d1c7c5a1a6484450e9', 'bdb016ca59696a0e97772013babda0851549f5c970113e6fa8924adf19173028', 'api', 'staff', 'The bistro token', 'staff:owner', 1772348412000, NULL),
('va501a', 'va501a-019ca83284a8df1b80eca919b1fd2697', '9c5af74b204135d73e29d94cf3e93b4772f89c1a4d288c4f716a84861eb2b2a8', 'api', 'staff', 'The staff token', 'staff:owner', 1772348409000, NULL),
('va501a', 'va501a-019ca8328890c7e422ca8d1800bf23e3', 'e05dd996f67caf53d4af0c1133a2d4f2772088567ae37b2e573549eb2c5d61e3', 'kiosk', 'viewer', 'The kiosk token', 'staff:owner', 1772348410000, NULL),
('va501a', 'va501a-019ca8328c780cbb9aac8fcb6b39c7b9', '087fc387e142589dc7a9e9ea339fee7de7940f8cb7b8c47c38cdb9a58079f9a4', 'display', 'viewer', 'The display token', 'staff:owner', 1772348411000, NULL),
('va501a', 'va501a-019ca8329448e5173ccf26cf0e0b1133', '3f16cba8a1225df773a0efa6bd0aa59235230efefc49a82b5284f1d0822f9d92', 'api', 'manager', 'The revoked token', 'staff:owner', 1772348413000, 1772348414000);

INSERT INTO venues (venue_id, slug, document) VALUES
('v8255a', 'bistro', '{"id":"v8255a","slug":"bistro","name":{"en":"A restaurant"},"zone":"Asia/Qatar","kind":"restaurant","active":true,"day_start":300,"queues":[{"id":"waitlist","name":{"en":"Waitlist"},"prefix":"R","aliases":[],"state":"open","hours":null,"capacity":null,"reserve":0,"audience":"any","floor":null,"room":null,"mean_service_seconds":600,"near_turn":3},{"id":"bar","name":{"en":"Bar"},"prefix":"","aliases":[],"state":"open","hours":null,"capacity":null,"reserve":0,"audience":"any","floor":null,"room":null,"mean_service_seconds":300,"near_turn":3}],"desks":[{"id":"host","name":{"en":"Host"},"queues":["waitlist","bar"]}]}'),
('va501a', 'clinic', '{"id":"va501a","slug":"clinic","name":{"en":"Clinic","ar":"عيادة"},"zone":"Asia/Qatar","kind":"clinic","active":true,"day_start":300,"queues":[{"id":"lab","name":{"en":"Lab"},"prefix":"L","aliases":["laboratory"],"state":"open","hours":null,"capacity":200,"reserve":5,"audience":"any","floor":null,"room":null,"mean_service_seconds":300,"near_turn":3},{"id":"xray","name":{"en":"X-ray"},"prefix":"X","aliases":[],"state":"open","hours":null,"capacity":null,"reserve":0,"audience":"any","floor":null,"room":null,"mean_service_seconds":300,"near_turn":3},{"id":"eye","name":{"en":"Eye"},"prefix":"","aliases":[],"state":"paused","hours":{"week":[[[480,960]],[[480,960]],[[480,960]],[[480,960]],[[480,960]],[[480,960]],[[480,960]]],"exceptions":{}},"capacity":null,"reserve":0,"audience":"any","floor":null,"room":null,"mean_service_seconds":300,"near_turn":3}],"desks":[{"id":"room-1","name":{"en":"Room 1"},"queues":["lab","xray","eye"]}]}');

INSERT INTO visits (venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at, left_at, ticket_id) VALUES
('v8255a', 'v8255a-019cad5936982141f82504390a037f0c', 'a47221b75f17395f45bd2a47e423c04c69e019759bd40ef2f34d4a7bc468ab9a', '+97433000001', 'open', 1772434831000, NULL, NULL, 'v8255a-019cad593698118d8d63783d534b8e9c'),
('v8255a', 'v8255a-019cad593a80cd88c9031e2c68f776cc', 'f95ce66ccbad163e1f3ba2d24b4ede115446fbf9ca96455bf177f297692dbc22', '+97433000002', 'open', 1772434832000, NULL, NULL, 'v8255a-019cad593a8007c9da8fad1819472623'),
('v8255a', 'v8255a-019cad593e6893aa36f6e7a52a165cbf', '96ac86f18f12cfe02981181c762c16225d34323b57be09830dc0dba9a0e2f65e', '+97433000003', 'open', 1772434833000, NULL, NULL, 'v8255a-019cad593e6836f5ca10d05a806b8e73'),
('va501a', 'va501a-019ca8329c18c5984369d4ac060e53e5', 'c16209526a37fc9ba270c32675a18335e6e13a60e10bb471b622710b0fce596f', 'Sunday 1', 'open', 1772348415000, NULL, NULL, 'va501a-019ca8329c180cfe0206f58d9a3cba6c'),
('va501a', 'va501a-019ca832a00003ce79bccf860ae8c9d9', 'f5ca0472a2f9c5c16e6fcdd4c6fe709691fb3a24ae5b6277c913576ce3443fee', 'Sunday 2', 'open', 1772348416000, NULL, NULL, 'va501a-019ca832a000cb16091f994dadc32594'),
('va501a', 'va501a-019ca832a3e813869a324e9b32e529da', '2bd7a51453d8caf51d55e8b128c2d8b82853ec5c0d2c13362bd981f364001909', 'Sunday 3', 'open', 1772348417000, NULL, NULL, 'va501a-019ca832a3e8f97d6015824e18222e8a'),
('va501a', 'va501a-019cad58c5500cb2ae92ec752a7f9f89', 'e72252113ad0c3666d41de0afb0a94627893b7b440f18d68fde7dd10c1017b47', 'first on Monday', 'open', 1772434802000, NULL, NULL, 'va501a-019cad58c550f829ec653db1313182a3'),
('va501a', 'va501a-019cad58d1080d56d0c3983aea176ab3', 'ed022ace52c523e28b57e0633d9df54b01ed1ccfa6db5593758a1e1e416ea5f0', 'first round', 'open', 1772434805000, NULL, NULL, 'va501a-019cad58d1084f1be09b20043ab854f5'),
('va501a', 'va501a-019cad58d8d8a8168c0a944bde0d1e45', '2b6f82431d93534d0658c49889e828f67664e530ec491e22f2e32ace4572cb9b', 'second round', 'open', 1772434807000, NULL, NULL, 'va501a-019cad58d8d87fd138263b22c2beb044'),
('va501a', 'va501a-019cad58dcc07f53a4bc34b6b0fe4593', '93573106c5399ab41d52042b440761b08aefdd9f631f1c28d203de1254d0763e', 'va501a-019cad58dcc07f53a4bc34b6b0fe4593', 'open', 1772434808000, NULL, NULL, 'va501a-019cad58dcc0789199b4179001676ff3'),
('va501a', 'va501a-019cad58e0a898ecf8e781039e3c6729', 'e237c33174e1b1dbd358fdfc2d67e82fa85b7f803ac1afd34fe8ab9b90a5143b', 'serving', 'open', 1772434809000, NULL, NULL, 'va501a-019cad58e0a868b1ae5d188e7dd893ac'),
('va501a', 'va501a-019cad58e4907aa7a58576371b97b390', '0e719fb9a7e29125e23c0a95eb2b470568b73dde87be826b48542324ade5ba84', 'called', 'open', 1772434810000, NULL, NULL, 'va501a-019cad58e49075fae158c0b9261c31dd'),
('va501a', 'va501a-019cad58e87862a6b7e110308a95955d', 'a121e55c0761de6e0d78e4736df7b40927ef24f916b1552bc8171ffce8d7246c', 'missed', 'open', 1772434811000, NULL, NULL, 'va501a-019cad58e8783e316ffc3a4068f20e93'),
('va501a', 'va501a-019cad5903d07126e6bebaacb3040261', '625828dd529a441b89c8c9829d37f0c96d5a4fe9c696a4b939e6b05626201dbb', 'finished', 'open', 1772434818000, NULL, NULL, 'va501a-019cad5903d0649bfe6ef6de981ca336'),
('va501a', 'va501a-019cad590f88e0b7c138a9eeaa710645', '4cb7121c20534db0aacfcb3b629864d41eba6670a628fa2b095a78822ef6b16f', 'held', 'open', 1772434821000, NULL, NULL, 'va501a-019cad590f881d9427a1b559ee48621a'),
('va501a', 'va501a-019cad591758e2277b8493b2bac81f0e', 'e29d9d5ba1dcce97ccb0ce8bffe01bd728a26e237cb2457a61dc281b23447dd4', 'left', 'open', 1772434823000, NULL, NULL, 'va501a-019cad591758c295bbce3a3cbb6d517f'),
('va501a', 'va501a-019cad591f28779c9858ce609eb51cc7', '2feaaf79c28eae30e68836c983aab2377082ca989a6878c86c6afd0f987d1653', 'waiting', 'open', 1772434825000, NULL, NULL, 'va501a-019cad591f288d42cd6c2ab1d9a51f3b'),
('va501a', 'va501a-019cad592310ffb58418bc9acdf6bfc2', '4f974026543d6dcb73b265eba022c679c7a65114631436b82efb7241263d0d8c', 'urgent', 'open', 1772434826000, NULL, NULL, 'va501a-019cad592310358122dc308c7a8f8e5e'),
('va501a', 'va501a-019cad5926f86a669e23d5a1e1aa504a', 'd594c768fd405f5eb8d862c666b1e3dbb55ac30ea538afa83e4a466811a7a1ee', 'door', 'open', 1772434827000, NULL, NULL, 'va501a-019cad5926f8850f484226138507ed0c'),
('va501a', 'va501a-019cad592ae0132e81f00f92aaf941cf', 'e0d602bb5f1682f4bcfef8cfe4d14998279e442a85e15025948cb3e3479bf454', 'called from the eye queue', 'open', 1772434828000, NULL, NULL, 'va501a-019cad592ae0aa6175fc4482c91e479b');

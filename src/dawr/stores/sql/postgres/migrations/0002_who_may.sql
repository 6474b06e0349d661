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

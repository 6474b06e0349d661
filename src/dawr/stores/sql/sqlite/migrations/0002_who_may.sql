-- Who may: accounts and their sessions, which belong to no venue; staff and tokens, which do.
-- No password, session, token or code is here: only what each can be recognised by.

CREATE TABLE accounts (
    account_id TEXT PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    session_hash TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE staff (
    venue_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    username TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role = 'viewer' OR role = 'staff' OR role = 'manager' OR role = 'owner'),
    added_at INTEGER NOT NULL,
    disabled_at INTEGER,
    PRIMARY KEY (venue_id, account_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX staff_by_account ON staff (account_id);

CREATE TABLE tokens (
    venue_id TEXT NOT NULL,
    token_id TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'api' OR kind = 'kiosk' OR kind = 'display'),
    role TEXT NOT NULL CHECK (role = 'viewer' OR role = 'staff' OR role = 'manager' OR role = 'owner'),
    name TEXT NOT NULL,
    made_by TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    revoked_at INTEGER,
    PRIMARY KEY (venue_id, token_id)
) STRICT, WITHOUT ROWID;

-- The code of the link that makes the first owner's account.
ALTER TABLE installation ADD COLUMN owner_code_hash TEXT;
ALTER TABLE installation ADD COLUMN owner_code_at INTEGER;

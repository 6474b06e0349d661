CREATE TABLE notes (
    venue_id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    text TEXT NOT NULL CHECK (text <> ''),
    changes INTEGER NOT NULL,
    PRIMARY KEY (venue_id, ticket_id)
) STRICT, WITHOUT ROWID;

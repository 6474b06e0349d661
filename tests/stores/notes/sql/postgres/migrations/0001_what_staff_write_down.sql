CREATE TABLE notes (
    venue_id text NOT NULL,
    ticket_id text NOT NULL,
    text text NOT NULL CHECK (text <> ''),
    changes bigint NOT NULL,
    PRIMARY KEY (venue_id, ticket_id)
);

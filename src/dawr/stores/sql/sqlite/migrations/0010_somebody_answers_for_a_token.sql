-- Somebody answers for every token: it may never more than they may now. NULL is the command line.
-- The empty name is nobody's, and such a token opens nothing until an owner takes it over: so are those that an older
-- server makes meanwhile, and those of which nobody knows any more who made them.

ALTER TABLE tokens ADD COLUMN account_id TEXT DEFAULT '';

-- For a token that was made by a token, whoever made the first of them.
WITH RECURSIVE makers (venue_id, token_id, made_by) AS (
    SELECT venue_id, token_id, made_by FROM tokens
    UNION
    SELECT makers.venue_id, makers.token_id, maker.made_by
    FROM makers
    JOIN tokens AS maker ON maker.venue_id = makers.venue_id AND 'token:' || maker.token_id = makers.made_by
)
UPDATE tokens SET account_id = accounts.account_id
FROM makers
LEFT JOIN accounts ON 'staff:' || accounts.username = makers.made_by
WHERE makers.venue_id = tokens.venue_id AND makers.token_id = tokens.token_id
    AND (accounts.account_id IS NOT NULL OR makers.made_by = 'command line');

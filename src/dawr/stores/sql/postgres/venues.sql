-- Venues: how each is set up, one document each.

-- name: venues_by_id
SELECT v.document FROM unnest($1::text[]) AS k (venue_id)
CROSS JOIN LATERAL (SELECT * FROM venues AS s WHERE s.venue_id = k.venue_id LIMIT 1) AS v;

-- name: venue_slugs
SELECT slug, venue_id FROM venues ORDER BY slug;

-- name: venues_called
SELECT slug, venue_id FROM venues WHERE slug = $1
UNION ALL
SELECT slug, venue_id FROM venues WHERE venue_id = $1;

-- name: save_venues
UPDATE venues AS v SET document = c.document
FROM unnest($1::text[], $2::text[], $3::text[]) AS c (venue_id, slug, document)
WHERE v.venue_id = c.venue_id AND v.slug = c.slug;

-- name: add_venues
INSERT INTO venues (venue_id, slug, document)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[]);

-- Venues: how each is set up, one document each.

-- name: venues_by_id
SELECT document FROM venues WHERE venue_id = ?1;

-- name: venue_slugs
SELECT slug, venue_id FROM venues ORDER BY slug;

-- name: venues_called
SELECT slug, venue_id FROM venues WHERE slug = ?1
UNION ALL
SELECT slug, venue_id FROM venues WHERE venue_id = ?1;

-- name: save_venues
UPDATE venues SET document = ?3 WHERE venue_id = ?1 AND slug = ?2;

-- name: add_venues
INSERT INTO venues (venue_id, slug, document) VALUES (?1, ?2, ?3);

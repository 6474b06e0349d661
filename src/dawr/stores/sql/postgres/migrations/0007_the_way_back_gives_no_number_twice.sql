-- A round may begin behind numbers that another database gave, and a database is left when its installation goes back
-- to the directory that it came from.

ALTER TABLE lines ADD COLUMN begins_behind integer NOT NULL DEFAULT 0;
ALTER TABLE installation ADD COLUMN left_for text;

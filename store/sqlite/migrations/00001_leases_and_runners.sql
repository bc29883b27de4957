-- +goose Up

-- Moments are microseconds on the clock of a boot of the machine. What was to
-- last until a moment of another boot has run out.

CREATE TABLE leases (
	name  TEXT    NOT NULL PRIMARY KEY, -- or its beginning and a hash, if it is long
	owner TEXT    NOT NULL,             -- empty when released
	token INTEGER NOT NULL,             -- grows with each new holder
	boot  TEXT    NOT NULL,
	until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE clusters (
	name       TEXT    NOT NULL PRIMARY KEY,
	id         TEXT    NOT NULL,        -- what its founder proposed
	generation INTEGER NOT NULL,        -- of the last registration
	boot       TEXT    NOT NULL,
	until      INTEGER NOT NULL         -- for the founder to register
) STRICT, WITHOUT ROWID;

CREATE TABLE runners (
	cluster     TEXT    NOT NULL REFERENCES clusters (name),
	address     TEXT    NOT NULL,
	incarnation INTEGER NOT NULL,
	generation  INTEGER NOT NULL,
	boot        TEXT    NOT NULL,
	until       INTEGER NOT NULL,
	PRIMARY KEY (cluster, address)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE runners;
DROP TABLE clusters;
DROP TABLE leases;

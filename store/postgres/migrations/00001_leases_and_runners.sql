-- +goose Up

-- The clock that decides what has run out: the server's, at the moment of the
-- call and not at the start of the transaction, which may have waited.
CREATE FUNCTION clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

CREATE TABLE leases (
	name  text        NOT NULL PRIMARY KEY, -- or its beginning and a hash, if it is long
	owner text        NOT NULL,             -- empty when released
	token bigint      NOT NULL,             -- grows with each new holder
	until timestamptz NOT NULL
);

CREATE TABLE clusters (
	name       text        NOT NULL PRIMARY KEY,
	id         text        NOT NULL,        -- what its founder proposed
	generation bigint      NOT NULL,        -- of the last registration
	until      timestamptz NOT NULL         -- for the founder to register
);

CREATE TABLE runners (
	cluster     text        NOT NULL REFERENCES clusters (name),
	address     text        NOT NULL,
	incarnation bigint      NOT NULL,
	generation  bigint      NOT NULL,
	until       timestamptz NOT NULL,
	PRIMARY KEY (cluster, address)
);

-- +goose Down

DROP TABLE runners;
DROP TABLE clusters;
DROP TABLE leases;
DROP FUNCTION clock();

-- +goose Up

CREATE TABLE rings (
	id      INTEGER NOT NULL PRIMARY KEY,
	cluster TEXT    NOT NULL,
	type    TEXT    NOT NULL,
	term    INTEGER NOT NULL,
	token   INTEGER NOT NULL, -- of the last one who sat down
	UNIQUE (cluster, type)
) STRICT;

CREATE TABLE seats (
	ring   INTEGER NOT NULL REFERENCES rings (id),
	runner TEXT    NOT NULL,
	token  INTEGER NOT NULL,
	note   BLOB    NOT NULL,
	boot   TEXT    NOT NULL,
	until  INTEGER NOT NULL,
	PRIMARY KEY (ring, runner),
	UNIQUE (ring, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE locks (
	ring  INTEGER NOT NULL REFERENCES rings (id),
	shard TEXT    NOT NULL,
	token INTEGER NOT NULL, -- of the seat that has it; 0, or of none there is, when it is free
	term  INTEGER NOT NULL, -- with n, the epoch of the last lock
	n     INTEGER NOT NULL,
	PRIMARY KEY (ring, shard)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE locks;
DROP TABLE seats;
DROP TABLE rings;

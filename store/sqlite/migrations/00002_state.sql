-- +goose Up

CREATE TABLE shards (
	id      INTEGER NOT NULL PRIMARY KEY,
	cluster TEXT    NOT NULL,
	type    TEXT    NOT NULL,
	shard   TEXT    NOT NULL,
	term    INTEGER NOT NULL, -- with n, the highest epoch that was claimed
	n       INTEGER NOT NULL,
	deleted INTEGER NOT NULL, -- the revision of keys that are not in state
	UNIQUE (cluster, type, shard)
) STRICT;

CREATE TABLE state (
	shard    INTEGER NOT NULL REFERENCES shards (id),
	key      TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	term     INTEGER NOT NULL, -- with n, the epoch under which it was written
	n        INTEGER NOT NULL,
	value    BLOB    NOT NULL,
	PRIMARY KEY (shard, key)
) STRICT;

-- +goose Down

DROP TABLE state;
DROP TABLE shards;

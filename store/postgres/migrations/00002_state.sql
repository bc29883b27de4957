-- +goose Up

CREATE TABLE shards (
	id      bigint NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	cluster text   NOT NULL,
	type    text   NOT NULL,
	shard   text   NOT NULL,
	term    bigint NOT NULL, -- with n, the highest epoch that was claimed
	n       bigint NOT NULL,
	deleted bigint NOT NULL, -- the revision of keys that are not in state
	UNIQUE (cluster, type, shard)
);

CREATE TABLE state (
	shard    bigint           NOT NULL REFERENCES shards (id),
	key      text COLLATE "C" NOT NULL, -- ordered by its bytes
	revision bigint           NOT NULL,
	term     bigint           NOT NULL, -- with n, the epoch under which it was written
	n        bigint           NOT NULL,
	value    bytea            NOT NULL,
	PRIMARY KEY (shard, key)
);

-- +goose Down

DROP TABLE state;
DROP TABLE shards;

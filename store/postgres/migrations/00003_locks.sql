-- +goose Up

CREATE TABLE rings (
	id      bigint NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	cluster text   NOT NULL,
	type    text   NOT NULL,
	term    bigint NOT NULL,
	token   bigint NOT NULL, -- of the last one who sat down
	UNIQUE (cluster, type)
);

CREATE TABLE seats (
	ring   bigint           NOT NULL REFERENCES rings (id),
	runner text COLLATE "C" NOT NULL,
	token  bigint           NOT NULL,
	note   bytea            NOT NULL,
	until  timestamptz      NOT NULL,
	PRIMARY KEY (ring, runner),
	UNIQUE (ring, token)
);

CREATE TABLE locks (
	ring  bigint           NOT NULL REFERENCES rings (id),
	shard text COLLATE "C" NOT NULL,
	token bigint           NOT NULL, -- of the seat that has it; 0, or of none there is, when it is free
	term  bigint           NOT NULL, -- with n, the epoch of the last lock
	n     bigint           NOT NULL,
	PRIMARY KEY (ring, shard)
);

-- +goose Down

DROP TABLE locks;
DROP TABLE seats;
DROP TABLE rings;

-- The truth of every home. Each table has the home in its key, and row security shows a transaction the rows of the one
-- home that it names in `memfolio.home`. Nothing here grows with the number of homes but rows. There are no foreign keys:
-- a writer holds the row of its home anyway, and checking them would cost a third of a write.

CREATE TABLE memfolio.homes (
    home     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name     text COLLATE "C" NOT NULL UNIQUE,
    secret   bytea NOT NULL,              -- the key of the hashes in the trail
    seq      bigint NOT NULL DEFAULT 0,   -- the newest change, and behind it the end of the trail
    head     text NOT NULL,
    part     text NOT NULL DEFAULT '',
    size     bigint NOT NULL DEFAULT 0,
    moved_to text
);

CREATE TABLE memfolio.files (             -- how each file was last left
    home    bigint NOT NULL,
    path    text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    seq     bigint NOT NULL,
    size    bigint NOT NULL,
    hash    text,                         -- null: the file was deleted
    PRIMARY KEY (home, path)
);
CREATE INDEX files_by_seq ON memfolio.files (home, seq);

CREATE TABLE memfolio.pieces (            -- what a change wrote: an append, or all of a page; never updated
    home    bigint NOT NULL,
    path    text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    start   bigint NOT NULL,
    seq     bigint NOT NULL,
    data    bytea,                        -- null: the file was deleted
    PRIMARY KEY (home, path, version, start)
);
CREATE INDEX pieces_by_seq ON memfolio.pieces (home, seq);

CREATE TABLE memfolio.trail (             -- the very bytes of each line, and the file in which it stands in a folder
    home bigint NOT NULL,
    seq  bigint NOT NULL,
    raw  bytea NOT NULL,
    part text NOT NULL,
    at   timestamptz NOT NULL,
    key  text,
    PRIMARY KEY (home, seq)
);
CREATE UNIQUE INDEX trail_by_key ON memfolio.trail (home, key) WHERE key IS NOT NULL;

CREATE TABLE memfolio.notes (             -- what a folder keeps in its inside: tokens, hints, what models cost
    home bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (home, name)
);

CREATE TABLE memfolio.leases (            -- who does a job, and until when others keep away from it
    home  bigint NOT NULL,
    name  text COLLATE "C" NOT NULL,
    owner text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (home, name)
);

ALTER TABLE memfolio.homes ENABLE ROW LEVEL SECURITY;
ALTER TABLE memfolio.homes FORCE ROW LEVEL SECURITY;
CREATE POLICY one_home ON memfolio.homes
    USING (home = nullif(current_setting('memfolio.home', true), '')::bigint
           OR name = nullif(current_setting('memfolio.name', true), ''));

DO $$
DECLARE named text;
BEGIN
    FOREACH named IN ARRAY ARRAY['files', 'pieces', 'trail', 'notes', 'leases'] LOOP
        EXECUTE format('ALTER TABLE memfolio.%I ENABLE ROW LEVEL SECURITY', named);
        EXECUTE format('ALTER TABLE memfolio.%I FORCE ROW LEVEL SECURITY', named);
        EXECUTE format('CREATE POLICY one_home ON memfolio.%I
            USING (home = nullif(current_setting(''memfolio.home'', true), '''')::bigint)', named);
    END LOOP;
END $$;

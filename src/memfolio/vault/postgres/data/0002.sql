-- Storing changes in one round trip, and vectors that servers share. A function keeps the plans of its statements in each connection of the server, whoever
-- stands in between, so that no statement has to be prepared by name.

CREATE FUNCTION memfolio.store(
    of_home  bigint,
    lock_ms  text,
    at_once  boolean,   -- false: the caller has locked the row, so what does not fit is an error
    seen     text,      -- the head on which the changes were composed
    seq      bigint,    -- the head behind them
    head     text,
    part     text,
    size     bigint,
    has_keys boolean,
    lines    json,
    states   json,
    written  json
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE fits boolean := true;
BEGIN
    PERFORM set_config('memfolio.home', of_home::text, true), set_config('lock_timeout', lock_ms, true);
    -- Asked first: whoever enters a key after this changes the head, too.
    IF has_keys THEN
        fits := NOT EXISTS (
            SELECT FROM json_to_recordset(lines) AS given (key text) JOIN memfolio.trail AS there USING (key)
            WHERE there.home = of_home);
    END IF;
    IF fits THEN
        UPDATE memfolio.homes SET seq = store.seq, head = store.head, part = store.part, size = store.size
        WHERE home = of_home AND head = seen AND seq = store.seq - json_array_length(lines);
        fits := FOUND;
    END IF;
    IF NOT fits AND NOT at_once THEN
        RAISE EXCEPTION 'the home is not as it was when its row was locked';
    ELSIF NOT fits THEN
        RETURN false;
    END IF;
    INSERT INTO memfolio.trail (home, seq, raw, part, at, key)
        SELECT of_home, seq, decode(raw, 'hex'), part, at::timestamptz, key
        FROM json_to_recordset(lines) AS given (seq bigint, raw text, part text, at text, key text);
    INSERT INTO memfolio.pieces (home, path, version, start, seq, data)
        SELECT of_home, path, version, start, seq, decode(data, 'hex')
        FROM json_to_recordset(written) AS given (path text, version bigint, start bigint, seq bigint, data text);
    INSERT INTO memfolio.files (home, path, version, seq, size, hash)
        SELECT of_home, path, version, seq, size, hash
        FROM json_to_recordset(states) AS given (path text, version bigint, seq bigint, size bigint, hash text)
        ON CONFLICT (home, path) DO UPDATE
        SET version = excluded.version, seq = excluded.seq, size = excluded.size, hash = excluded.hash;
    RETURN true;
END $$;

-- Nobody looks for files by the change that left them so. Without that index, and with room on each page, updating one of
-- these rows leaves the indexes as they are.
DROP INDEX memfolio.files_by_seq;
ALTER TABLE memfolio.files SET (fillfactor = 70);
ALTER TABLE memfolio.homes SET (fillfactor = 70);

CREATE TABLE memfolio.vectors (           -- what embedders were paid for, by the hash of the text
    home     bigint NOT NULL,
    identity text COLLATE "C" NOT NULL,
    hash     bytea NOT NULL,
    vector   bytea NOT NULL,
    PRIMARY KEY (home, identity, hash)
);

CREATE TABLE memfolio.waiting (           -- texts whose vectors a server makes, and until when others leave them to it
    home     bigint NOT NULL,
    identity text COLLATE "C" NOT NULL,
    hash     bytea NOT NULL,
    owner    text NOT NULL,
    until    timestamptz NOT NULL,
    PRIMARY KEY (home, identity, hash)
);

DO $$
DECLARE named text;
BEGIN
    FOREACH named IN ARRAY ARRAY['vectors', 'waiting'] LOOP
        EXECUTE format('ALTER TABLE memfolio.%I ENABLE ROW LEVEL SECURITY', named);
        EXECUTE format('ALTER TABLE memfolio.%I FORCE ROW LEVEL SECURITY', named);
        EXECUTE format('CREATE POLICY one_home ON memfolio.%I
            USING (home = nullif(current_setting(''memfolio.home'', true), '''')::bigint)', named);
    END LOOP;
END $$;

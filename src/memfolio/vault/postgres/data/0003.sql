-- Jobs that look after homes: when each is due, which worker is at it, and which failed too often. A home gets its row with
-- the first change after this.

CREATE TABLE memfolio.jobs (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    home        bigint NOT NULL,
    agent       text COLLATE "C" NOT NULL DEFAULT '',       -- empty: all agents of the home
    kind        text COLLATE "C" NOT NULL DEFAULT 'tend',   -- tend: all that is due; else the one job that failed
    run_at      timestamptz NOT NULL,
    lease_until timestamptz,
    owner       text,
    attempts    int NOT NULL DEFAULT 0,
    error       text,
    gave_up_at  timestamptz,                                -- set: no worker tries it any more
    UNIQUE (home, agent, kind)
);
CREATE INDEX jobs_by_time ON memfolio.jobs (run_at, id) WHERE gave_up_at IS NULL;
CREATE INDEX jobs_given_up ON memfolio.jobs (gave_up_at) WHERE gave_up_at IS NOT NULL;

ALTER TABLE memfolio.jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE memfolio.jobs FORCE ROW LEVEL SECURITY;
-- A worker sees the jobs of all homes, and of each home only what it names in `memfolio.home`.
CREATE POLICY one_home ON memfolio.jobs
    USING (home = nullif(current_setting('memfolio.home', true), '')::bigint
           OR current_setting('memfolio.jobs', true) = 'all');

-- As before, and at the end it sees to it that somebody looks after what was stored.
CREATE OR REPLACE FUNCTION memfolio.store(
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
    -- Looked up first: of the changes within half an hour, only one writes to the job.
    IF NOT EXISTS (
        SELECT FROM memfolio.jobs
        WHERE home = of_home AND agent = '' AND kind = 'tend' AND run_at <= now() + interval '30 minutes'
    ) THEN
        INSERT INTO memfolio.jobs (home, run_at) VALUES (of_home, now() + interval '30 minutes')
            ON CONFLICT (home, agent, kind) DO UPDATE SET run_at = excluded.run_at;
    END IF;
    RETURN true;
END $$;

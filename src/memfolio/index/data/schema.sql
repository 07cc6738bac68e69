-- The tables of an index; `schema.py` fills in the columns of `memories` and the roles that are nobody's name.

CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE files (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,
    size INTEGER NOT NULL,
    stamp TEXT,
    problems TEXT
);

-- Whatever can be found: entries, hand-written notes, passages of pages, facts.
CREATE TABLE memories (row INTEGER PRIMARY KEY, {columns}, UNIQUE (id));
CREATE INDEX memories_by_file ON memories (file, ordinal);
CREATE INDEX memories_by_session ON memories (session, file, happened_at, ordinal) WHERE session IS NOT NULL;
CREATE INDEX memories_by_speaker ON memories (role) WHERE role NOT IN {nameless};
CREATE INDEX memories_by_time ON memories (happened_at);
CREATE INDEX memories_by_user ON memories (user, session) WHERE user IS NOT NULL;
CREATE INDEX memories_by_audience ON memories (audience) WHERE audience IS NOT NULL;
-- The few that lists of what is out of sight look through; `OUT_OF_SIGHT_WHERE` has the same condition.
CREATE INDEX memories_out_of_sight ON memories (happened_at)
    WHERE archived = 1 OR superseded_by IS NOT NULL OR origin = 'untrusted';
CREATE INDEX memories_alone ON memories (id)
    WHERE session IS NULL AND form = 'memory' AND forgotten_at IS NULL AND archived = 0;

-- How many memories there are of what, and how many in sight each session has.
CREATE TABLE tally (
    form TEXT NOT NULL,
    kind TEXT NOT NULL,
    store TEXT NOT NULL,
    origin TEXT NOT NULL,
    alone INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    forgotten INTEGER NOT NULL,
    superseded INTEGER NOT NULL,
    memories INTEGER NOT NULL,
    PRIMARY KEY (form, kind, store, origin, alone, archived, forgotten, superseded)
) WITHOUT ROWID;
CREATE TABLE session_tally (session TEXT PRIMARY KEY, memories INTEGER NOT NULL) WITHOUT ROWID;

-- Memories without a vector; beside them, since a row is written as a whole when one of its columns changes.
CREATE TABLE waiting (row INTEGER PRIMARY KEY);

CREATE VIRTUAL TABLE words USING fts5 (
    content, about, content='', contentless_delete=1, tokenize="porter unicode61 remove_diacritics 2"
);

-- Where else a memory stands: the same words again, or an id that another file had first.
CREATE TABLE places (
    id TEXT NOT NULL, file INTEGER NOT NULL, ordinal INTEGER NOT NULL, PRIMARY KEY (file, ordinal, id)
) WITHOUT ROWID;
CREATE INDEX places_by_id ON places (id);

CREATE TABLE tags (tag TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (tag, row)) WITHOUT ROWID;

CREATE TABLE entities (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    aliases TEXT NOT NULL,
    summary TEXT NOT NULL,
    properties TEXT NOT NULL,
    file INTEGER NOT NULL
) WITHOUT ROWID;
-- What entities are called, in one spelling of case.
CREATE TABLE names (name TEXT NOT NULL, entity TEXT NOT NULL, PRIMARY KEY (name, entity)) WITHOUT ROWID;
CREATE INDEX names_by_entity ON names (entity);
CREATE TABLE mentions (entity TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (entity, row)) WITHOUT ROWID;
CREATE INDEX mentions_by_row ON mentions (row);

-- Temporal edges are the order of a session's memories and are not written down.
CREATE TABLE edges (
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    predicate TEXT,
    confidence REAL NOT NULL DEFAULT 1,
    file INTEGER NOT NULL,
    ordinal INTEGER NOT NULL
);
CREATE INDEX edges_by_source ON edges (source);
CREATE INDEX edges_by_target ON edges (target);
CREATE INDEX edges_by_file ON edges (file, ordinal);

-- The lines of meta/state/: what was said about a memory after it was made.
CREATE TABLE states (
    file INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    memory TEXT,
    op TEXT NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (file, ordinal)
) WITHOUT ROWID;
CREATE INDEX states_by_memory ON states (memory) WHERE memory IS NOT NULL;
CREATE INDEX states_by_job ON states (op) WHERE op = 'job';

-- The facts that are asserted at the moment, in the rows of their memories. Times are microseconds in UTC.
CREATE TABLE facts (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    object TEXT NOT NULL,
    confidence REAL NOT NULL,
    source TEXT NOT NULL,
    category TEXT,
    origin TEXT NOT NULL,
    valid_from INTEGER,
    valid_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    verified_at INTEGER,
    verifications INTEGER NOT NULL DEFAULT 0,
    file INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    more TEXT
);
CREATE UNIQUE INDEX facts_by_subject ON facts (subject, predicate, object);
CREATE INDEX facts_by_predicate ON facts (predicate, object, subject);
CREATE INDEX facts_by_object ON facts (object, subject, predicate);

-- All lines about each fact that has several, or that was retracted. `id` is that of the line.
CREATE TABLE fact_history (
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    object TEXT NOT NULL,
    known_from INTEGER NOT NULL,
    file INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    line TEXT NOT NULL
);
CREATE INDEX fact_history_by_subject ON fact_history (subject, predicate, object, ordinal);
CREATE INDEX fact_history_by_id ON fact_history (id);
CREATE INDEX fact_history_by_file ON fact_history (file);

-- What follows from facts by the rules that are kept: one row for each way to hold that is not worse than another.
-- Row numbers are negative.
CREATE TABLE derived (
    row INTEGER PRIMARY KEY,
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    object TEXT NOT NULL,
    confidence REAL NOT NULL,
    valid_from INTEGER,
    valid_until INTEGER,
    rule TEXT NOT NULL
);
CREATE INDEX derived_by_subject ON derived (subject, predicate, object);
CREATE INDEX derived_by_predicate ON derived (predicate, object);
CREATE INDEX derived_by_object ON derived (object);
-- On which facts (rows of `facts`) and conclusions (rows of `derived`) each conclusion rests.
CREATE TABLE supports (premise INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (premise, row)) WITHOUT ROWID;
CREATE INDEX supports_by_row ON supports (row);
-- Facts that were added, changed or removed since conclusions were drawn.
CREATE TABLE fact_changes (row INTEGER NOT NULL, subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL);

-- The lines of the other ledgers, such as rules, cases and runs, and what each is about.
CREATE TABLE records (
    ledger TEXT NOT NULL,
    file INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    about TEXT NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (ledger, ordinal)
) WITHOUT ROWID;
CREATE INDEX records_by_about ON records (ledger, about);
CREATE INDEX records_by_file ON records (file);

-- What digests made of days, each with the mark of what the day was then: a cache.
CREATE TABLE gists (day TEXT PRIMARY KEY, mark TEXT NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE vectors (row INTEGER PRIMARY KEY, data BLOB NOT NULL);
-- What all vectors add up to, in whole numbers, so that it is the same in whatever order they came and went.
CREATE TABLE vector_sum (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE sketches (block INTEGER PRIMARY KEY, data BLOB NOT NULL);
-- Beside the blocks for the same reason as above.
CREATE TABLE vector_versions (block INTEGER PRIMARY KEY, version INTEGER NOT NULL);
CREATE TABLE embeddings (identity TEXT NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (identity, hash))
    WITHOUT ROWID;

-- What the review app keeps: corpora by name, what happened to them, decisions, settings, opened results. Append-only.

-- Kinds: created, removed (a tombstone), skill, upload, label, dispute. `corpus` is what traces carry.
CREATE TABLE corpus_event (
    seq BIGINT PRIMARY KEY,
    corpus VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    happened_at VARCHAR NOT NULL
);

-- The decision log of a refinement; `seq` counts from 1 within it.
CREATE TABLE decision (
    refinement_id VARCHAR NOT NULL,
    seq BIGINT NOT NULL,
    change_id VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    added_at VARCHAR NOT NULL,
    PRIMARY KEY (refinement_id, seq)
);

-- The row of a name with the highest seq counts.
CREATE TABLE setting (
    name VARCHAR NOT NULL,
    seq BIGINT NOT NULL,
    value VARCHAR NOT NULL,
    PRIMARY KEY (name, seq)
);

-- What a list shows of a trace revision, so that lists need not read the traces.
CREATE TABLE trace_card (
    trace_id VARCHAR NOT NULL,
    revision VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    PRIMARY KEY (trace_id, revision)
);

-- Finished refinements of other databases, whole, for reading.
CREATE TABLE opened_result (
    refinement_id VARCHAR PRIMARY KEY,
    seq BIGINT NOT NULL,
    corpus VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    opened_at VARCHAR NOT NULL
);

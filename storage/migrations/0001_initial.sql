-- Every table but `job` is append-only. Keys, no foreign keys. Free text is ASCII-escaped (storage/batches.py).

CREATE TABLE trace (
    trace_id VARCHAR NOT NULL,
    revision VARCHAR NOT NULL,
    corpus VARCHAR NOT NULL,
    external_id VARCHAR NOT NULL,
    format VARCHAR NOT NULL,
    model VARCHAR,
    task_id VARCHAR NOT NULL,
    task_id_origin VARCHAR NOT NULL,
    span_count BIGINT NOT NULL,
    source VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    added_at VARCHAR NOT NULL,
    PRIMARY KEY (trace_id, revision)
);

-- Which revision of a trace counts: the row with the highest ordinal.
CREATE TABLE trace_current (
    trace_id VARCHAR NOT NULL,
    ordinal BIGINT NOT NULL,
    revision VARCHAR NOT NULL,
    PRIMARY KEY (trace_id, ordinal)
);

CREATE TABLE outcome (
    seq BIGINT PRIMARY KEY,
    key VARCHAR NOT NULL,
    trace_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    score DOUBLE,
    body VARCHAR NOT NULL,
    added_at VARCHAR NOT NULL
);

CREATE TABLE note (
    key VARCHAR PRIMARY KEY,
    seq BIGINT NOT NULL,
    trace_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    body VARCHAR NOT NULL
);

CREATE TABLE skill (
    key VARCHAR PRIMARY KEY,
    body VARCHAR NOT NULL,
    added_at VARCHAR NOT NULL
);

CREATE TABLE refinement (
    refinement_id VARCHAR PRIMARY KEY,
    seq BIGINT NOT NULL,
    corpus VARCHAR NOT NULL,
    snapshot VARCHAR NOT NULL,
    base VARCHAR NOT NULL,
    parent VARCHAR,
    body VARCHAR NOT NULL,
    started_at VARCHAR NOT NULL
);

CREATE TABLE job (
    refinement_id VARCHAR PRIMARY KEY,
    status VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    done BIGINT NOT NULL,
    total BIGINT NOT NULL,
    updated_at VARCHAR NOT NULL
);

-- One row an attempt; a key is finished when one of its attempts is `done`, and that attempt is its last.
CREATE TABLE step (
    key VARCHAR NOT NULL,
    attempt BIGINT NOT NULL,
    refinement_id VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    error VARCHAR,
    seconds DOUBLE NOT NULL,
    ended_at VARCHAR NOT NULL,
    PRIMARY KEY (key, attempt)
);

-- `record_key` hashes the whole content: records whose own `key` leaves fields out never shadow one another.
CREATE TABLE record (
    record_key VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    body VARCHAR NOT NULL
);

CREATE TABLE step_output (
    step_key VARCHAR NOT NULL,
    ordinal BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    record_key VARCHAR NOT NULL,
    PRIMARY KEY (step_key, ordinal)
);

-- The ordered steps of a stage of a refinement; the link with the highest seq counts.
CREATE TABLE stage_link (
    refinement_id VARCHAR NOT NULL,
    seq BIGINT NOT NULL,
    stage VARCHAR NOT NULL,
    step_keys VARCHAR[] NOT NULL,
    PRIMARY KEY (refinement_id, seq)
);

CREATE TABLE event (
    refinement_id VARCHAR NOT NULL,
    seq BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    happened_at VARCHAR NOT NULL,
    PRIMARY KEY (refinement_id, seq)
);

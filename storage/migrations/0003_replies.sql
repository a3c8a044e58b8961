-- Replies of a model whose step has not finished: kept as they arrive, so that a step of several calls that is cut short
-- pays for none of them twice. Rows go when their refinement is through: its records hold what they said.
CREATE TABLE reply (
    refinement_id VARCHAR NOT NULL,
    request_id VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    PRIMARY KEY (refinement_id, request_id)
);

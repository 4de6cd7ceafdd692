-- By minute, how many calls to providers observations took, and for how many resources they spared one each.
CREATE TABLE observations (
    at      timestamptz PRIMARY KEY,
    calls   bigint NOT NULL,
    members bigint NOT NULL
);

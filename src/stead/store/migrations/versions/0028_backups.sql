-- When the cell was backed up by `stead backup create`.
CREATE TABLE backups (
    at     timestamptz PRIMARY KEY,  -- the moment that it shows
    size   bigint NOT NULL,          -- of the dump, in bytes
    sha256 text   NOT NULL           -- of the dump
);

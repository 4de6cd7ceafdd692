-- The journal as an audit trail. New columns are empty in old lines, so nothing is rewritten, and a controller that knows
-- none of them goes on: whoever gives the next hashes gives them also to the lines that it numbered.
ALTER TABLE journal
    ADD COLUMN origin  text,                      -- the address that a request came from
    ADD COLUMN request text,                      -- the request's id
    ADD COLUMN hash    bytea;                     -- of the line before and of this one: see journal_text
ALTER TABLE journal
    ALTER COLUMN origin SET DEFAULT nullif(current_setting('stead.origin', true), ''),
    ALTER COLUMN request SET DEFAULT nullif(current_setting('stead.request', true), '');

-- How far the chain has come: one row. It is written with the hashes, so a journal whose end was cut off does not fit it.
CREATE TABLE journal_head (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    after    bigint NOT NULL,                     -- the last position before the first that has a hash
    began_at timestamptz NOT NULL DEFAULT now(),
    position bigint NOT NULL,
    hash     bytea NOT NULL
);
INSERT INTO journal_head (after, position, hash)
SELECT last_position, last_position, journal_genesis(last_position) FROM cell;

-- What was taken out of the journal, each record with where it went on from. All lines up to `last` are in files.
CREATE TABLE journal_archives (
    first    bigint PRIMARY KEY,
    last     bigint NOT NULL UNIQUE CHECK (last >= first),
    previous bytea,                               -- the hash before the first; null where that had none
    hash     bytea,                               -- of the last; null likewise
    until    timestamptz NOT NULL,                -- lines from before that are gone from the database
    file     text NOT NULL,                       -- its name
    sha256   bytea NOT NULL,                      -- of the file
    by       text NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);

-- Indexes on a plain table, by a function that is made ahead too, and on a partitioned one.
CREATE OR REPLACE FUNCTION first_word(says text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT split_part(says, ' ', 1)
$$;
CREATE INDEX CONCURRENTLY IF NOT EXISTS operation_members_word ON operation_members (first_word(says), path)
    WHERE outcome <> 'skipped';
CREATE INDEX CONCURRENTLY IF NOT EXISTS journal_actor ON journal (actor, at);

-- What the lines of the journal that have no position yet add to the counts, of every place above what they are about, for
-- paths from `first` on and before `last`. With the counts of the same moment it is how many there are now.
CREATE OR REPLACE FUNCTION count_unnumbered(first text, last text)
RETURNS TABLE (path text, kind text, state text, members bigint) LANGUAGE sql STABLE AS $$
    SELECT above COLLATE "C", j.kind, d.state, sum(d.members)::bigint
      FROM journal j, unnest(ancestors_of(j.path)) above,
           unnest(ARRAY[j.source, j.target], ARRAY[-1, 1]) AS d (state, members)
     WHERE j.position IS NULL AND j.rejections = 0 AND j.source <> j.target AND j.path >= first AND j.path < last
       AND above <> '/' AND d.state <> ''
     GROUP BY above, j.kind, d.state
$$;

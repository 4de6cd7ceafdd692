-- Why the last that was done to each of some resources did not do what was asked: as its own operation ended or, where something
-- else happened to it since, the error that was told with that. Where it did what was asked, the resource is left out.
SELECT f.path, f.failure FROM (
    SELECT p.path, CASE WHEN e.id IS NULL OR (j.at > e.at AND j.operation IS DISTINCT FROM e.id) THEN j.error WHEN e.outcome <> 'succeeded' THEN e.says END AS failure
      FROM unnest($1::text[]) AS p (path)
      LEFT JOIN LATERAL (
           SELECT o.id, o.ended_at AS at, o.outcome, coalesce(nullif(o.says, ''), reason_of_outcome(o.outcome)) AS says
             FROM ended_operations o WHERE o.path = p.path ORDER BY o.ended_at DESC LIMIT 1) e ON true
      LEFT JOIN LATERAL (
           SELECT l.at, l.operation, l.change ->> 'error' AS error FROM journal l
            WHERE l.path = p.path AND (l.change ? 'error' OR l.source <> l.target) ORDER BY l.at DESC, l.id DESC LIMIT 1) j ON true
) f WHERE f.failure <> ''

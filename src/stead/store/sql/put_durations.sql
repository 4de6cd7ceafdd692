-- What is known from now on of how long some moves take. Whoever writes it has locked the follower.
INSERT INTO durations (kind, action, state, lane, counts, samples, typical, p99)
SELECT kind, action, state, lane, counts, samples, typical, p99
  FROM jsonb_to_recordset($1) AS k (kind text, action text, state text, lane text, counts jsonb, samples float8, typical float8,
                                    p99 float8)
ON CONFLICT (kind, action, state, lane) DO UPDATE
   SET counts = EXCLUDED.counts, samples = EXCLUDED.samples, typical = EXCLUDED.typical, p99 = EXCLUDED.p99, learned_at = now()

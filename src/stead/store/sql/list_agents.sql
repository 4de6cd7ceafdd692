-- Agents that have an identity or were heard of.
SELECT coalesce(i.name, a.name) AS name, coalesce(i.lanes, a.lanes) AS lanes, i.joined_at, i.expires_at, i.revoked_at,
       a.last_seen, coalesce(a.last_seen > now() - make_interval(secs => $1) AND i.revoked_at IS NULL, false) AS there,
       coalesce(a.version, '') AS version, coalesce(a.rejected, '{}') AS rejected,
       coalesce(a.clock_offset, 0) AS clock_offset
  FROM agent_identities i FULL JOIN agents a ON a.name = i.name
 ORDER BY 1

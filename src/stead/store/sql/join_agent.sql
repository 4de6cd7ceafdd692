-- Uses an invitation up and makes an identity of it: for a name that nobody has, and a key that nobody ever had. Whoever
-- asks again with the same token and the same key has not heard the answer, and hears it again.
WITH invited AS (
    UPDATE agent_invitations i SET used_at = now()
     WHERE i.digest = $1 AND i.used_at IS NULL AND i.expires_at > now() AND ($2 = '' OR i.name = $2)
       AND NOT EXISTS (SELECT FROM agent_identities a WHERE a.user_key = $3 OR (a.name = i.name AND a.revoked_at IS NULL))
       AND NOT EXISTS (SELECT FROM revoked_keys k WHERE k.user_key = $3)
    RETURNING i.name, i.lanes
), joined AS (
    INSERT INTO agent_identities AS a (name, lanes, user_key, expires_at)
    SELECT name, lanes, $3, now() + make_interval(secs => $4) FROM invited
    ON CONFLICT (name) DO UPDATE SET lanes = excluded.lanes, user_key = excluded.user_key, joined_at = now(),
                                     issued_at = now(), expires_at = excluded.expires_at, revoked_at = NULL
     WHERE a.revoked_at IS NOT NULL
    RETURNING a.name, a.lanes
)
SELECT name, lanes FROM joined
UNION ALL
SELECT a.name, a.lanes FROM agent_invitations i JOIN agent_identities a ON a.name = i.name
 WHERE i.digest = $1 AND i.used_at IS NOT NULL AND i.expires_at > now() AND a.user_key = $3 AND a.revoked_at IS NULL

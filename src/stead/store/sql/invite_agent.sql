-- Keeps an invitation, unless there is an agent of that name. What is long over is forgotten on the way.
WITH old AS (
    DELETE FROM agent_invitations WHERE expires_at < now() - interval '30 days'
), made AS (
    INSERT INTO agent_invitations (digest, name, lanes, invited_by, expires_at)
    SELECT $1, $2, $3, $4, now() + make_interval(secs => $5)
     WHERE NOT EXISTS (SELECT FROM agent_identities a WHERE a.name = $2 AND a.revoked_at IS NULL)
    RETURNING name, lanes, invited_by, expires_at
)
SELECT expires_at, record_access_change('agent', 'invite', invited_by, jsonb_build_object('name', name, 'lanes', lanes)) FROM made

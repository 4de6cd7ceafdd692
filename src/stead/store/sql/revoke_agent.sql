-- An identity, and whatever invitation there is for the same name, hold no longer, says $2.
WITH gone AS (
    UPDATE agent_identities SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL
    RETURNING name, user_key, expires_at
), kept AS (
    INSERT INTO revoked_keys (user_key, name, expires_at) SELECT user_key, name, expires_at FROM gone
), uninvited AS (
    UPDATE agent_invitations SET used_at = now() WHERE name = $1 AND used_at IS NULL
)
SELECT name, record_access_change('agent', 'revoke', $2, jsonb_build_object('name', name)) FROM gone

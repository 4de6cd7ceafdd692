-- An identity that was not revoked holds for so much longer from now.
UPDATE agent_identities SET issued_at = now(), expires_at = now() + make_interval(secs => $2)
 WHERE name = $1 AND revoked_at IS NULL
RETURNING lanes, user_key

-- The lanes that an agent may speak for.
SELECT lanes FROM agent_identities WHERE name = $1 AND revoked_at IS NULL

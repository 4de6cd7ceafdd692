-- Something that nobody owns, if its token is one of ours.
SELECT lane, token, path, facts FROM orphans
 WHERE lane = $1 AND token = $2 AND token ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'

-- Something that was found on a lane and nobody owns.
SELECT lane, token, path, facts FROM orphans WHERE lane = $1 AND token = $2

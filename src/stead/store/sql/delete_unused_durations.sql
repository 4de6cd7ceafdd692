-- What nobody has learned anything about for so many seconds, such as of lanes that are gone.
DELETE FROM durations WHERE learned_at < now() - make_interval(secs => $1) RETURNING 1

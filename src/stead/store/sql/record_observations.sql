-- Providers were asked so many times ($1) about so many resources ($2), those among them that did not need to be asked about.
-- What is older than a day is forgotten.
WITH old AS (DELETE FROM observations WHERE at < now() - interval '1 day')
INSERT INTO observations (at, calls, members) VALUES (date_trunc('minute', now()), $1, $2)
ON CONFLICT (at) DO UPDATE SET calls = observations.calls + EXCLUDED.calls, members = observations.members + EXCLUDED.members

-- Keys that the bus has to know of. Each is revoked for a day longer than anything signed for it may hold: what was being
-- signed at that very moment is over, too.
SELECT user_key, extract(epoch FROM expires_at + interval '1 day')::bigint AS until
  FROM revoked_keys WHERE expires_at > now() - interval '1 day' ORDER BY user_key

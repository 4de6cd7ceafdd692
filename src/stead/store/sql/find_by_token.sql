-- Resources by token. What is no token of ours has no owner.
SELECT path FROM resources WHERE token = ANY (
    SELECT t::uuid FROM unnest($1::text[]) t WHERE t ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')

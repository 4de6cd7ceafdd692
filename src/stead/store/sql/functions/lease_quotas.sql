-- What leases of a namespace may have: so many hosts at a time, and so many seconds each.

-- The most hosts that leases of a namespace have at one moment of a time.
CREATE OR REPLACE FUNCTION count_booked_hosts(of_namespace text, period tstzrange) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(max(n), 0)::bigint FROM (
        SELECT sum(one) OVER (ORDER BY t, one) AS n
          FROM allocations a, LATERAL (VALUES (lower(a.during), 1), (upper(a.during), -1)) e (t, one)
         WHERE a.reservation > '/' || of_namespace || '/' AND a.reservation < '/' || of_namespace || '0' AND NOT a.over
           AND lower(a.during) < upper(period) AND upper(a.during) > lower(period)) s
$$;

-- Reject what was just booked where the namespace may not have so much. Others that book for the namespace wait for the lock.
CREATE OR REPLACE FUNCTION check_lease_quotas(of_lease text, period tstzrange) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    namespace_name constant text := split_part(of_lease, '/', 2);
    q     record;
    amount  bigint;
BEGIN
    FOR q IN SELECT what, most FROM quotas WHERE path = '/' || namespace_name AND what IN ('hosts', 'lease_seconds') AND most IS NOT NULL
              ORDER BY what FOR UPDATE
    LOOP
        amount := CASE q.what WHEN 'hosts' THEN count_booked_hosts(namespace_name, period)
                            ELSE extract(epoch FROM upper(period) - lower(period)) END;
        IF amount > q.most THEN
            RAISE EXCEPTION 'no room' USING ERRCODE = 'ST002',
                DETAIL = jsonb_build_object('reservation', '', 'count', amount, 'quota', q.what, 'most', q.most)::text;
        END IF;
    END LOOP;
END $$;

-- An update has brought a lease in order: its start is over, or still to come.
UPDATE lease_events SET status = $2, at = CASE WHEN $2 = 'UNDONE' THEN to_timestamp($3) ELSE at END
 WHERE lease = $1 AND kind = 'start_lease' AND status <> $2

-- Why members of an operation did not do what was asked, each reason once, the most frequent first, with the first member.
SELECT outcome, says, count(*) AS members, min(path) AS path FROM operation_members
 WHERE operation = $1 GROUP BY outcome, says ORDER BY 3 DESC, says LIMIT $2

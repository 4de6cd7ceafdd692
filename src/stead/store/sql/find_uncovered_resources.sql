-- What of the kind $1 is in none of the states $2, or under way and none of the actions $3.
SELECT find_uncovered_resources($1, $2, $3) AS in_the_way

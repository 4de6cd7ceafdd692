-- Lanes that a namespace may not use, of those that something would use.
SELECT find_denied_lanes($1) AS answer

-- Lanes that a namespace may not use, of those that something would use.
SELECT refused_lanes($1) AS answer

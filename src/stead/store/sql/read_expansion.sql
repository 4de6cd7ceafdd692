-- What an operation still asks of the members of its group.
SELECT e.path, e.member, e.after, e.request, e.turn, o.principal, o.reason, o.request AS wish, o.action, o.kind
  FROM expansions e JOIN operations o ON o.id = e.operation WHERE e.operation = $1

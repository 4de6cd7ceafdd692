SELECT id, event, says, url, made_at, tries, delivered_at, error FROM lease_notices WHERE lease = $1 ORDER BY made_at

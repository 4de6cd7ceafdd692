-- What was handed over was seen gone or broken. The lease does not go into error for that: it lacks something.
INSERT INTO reservation_flags AS f (reservation, lost)
SELECT r.path, true FROM resources r WHERE r.path = ANY ($1) AND r.kind = 'reservation' AND r.state = 'active'
ON CONFLICT (reservation) DO UPDATE SET lost = true

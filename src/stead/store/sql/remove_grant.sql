-- Take a role from somebody, says $4.
WITH taken AS (DELETE FROM grants WHERE subject = $1 AND role = $2 AND namespace = $3 RETURNING *)
SELECT subject, tell_access('grant', 'take', $4,
                            jsonb_build_object('subject', subject, 'role', role, 'namespace', namespace))
  FROM taken

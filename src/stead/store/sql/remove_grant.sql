-- Take a role from somebody, says $4.
WITH taken AS (DELETE FROM grants WHERE subject = $1 AND role = $2 AND namespace = $3 RETURNING *)
SELECT subject, record_access_change('grant', 'take', $4,
                            jsonb_build_object('subject', subject, 'role', role, 'namespace', namespace))
  FROM taken

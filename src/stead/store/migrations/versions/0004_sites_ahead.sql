-- The indexes of 0004 on resources.
CREATE INDEX CONCURRENTLY IF NOT EXISTS resources_meeting ON resources (changed_at)
    WHERE kind = 'cloudlet' AND state IN ('Init', 'InitOk');
CREATE INDEX CONCURRENTLY IF NOT EXISTS resources_expecting ON resources (lane) WHERE kind = 'cloudlet' AND state = 'Init';

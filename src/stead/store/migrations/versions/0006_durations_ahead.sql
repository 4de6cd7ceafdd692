-- The indexes of 0006 on resources and on the journal.
CREATE INDEX CONCURRENTLY IF NOT EXISTS resources_working ON resources (changed_at, id)
    WHERE operation IS NOT NULL OR hidden IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS resources_probed ON resources (changed_at, id)
    WHERE condition #>> '{op,phase}' IN ('probing', 'fencing') OR condition #>> '{hidden,phase}' IN ('probing', 'fencing');
CREATE INDEX CONCURRENTLY IF NOT EXISTS journal_healed ON journal (at, id)
    WHERE trigger IN ('observed', 'timed_out') AND operation IS NOT NULL;

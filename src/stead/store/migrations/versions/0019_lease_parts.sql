-- A lease has all its parts: at least one reservation, its start and its end. Only before its booking, and after one that
-- failed, it may have none.
ALTER TABLE lease_combinations ADD COLUMN may_lack_parts boolean NOT NULL DEFAULT false;
INSERT INTO lease_combinations SELECT c.* FROM lease_combinations c WHERE c.lease IN ('CREATING', 'UPDATING', 'ERROR', 'DELETING')
ON CONFLICT (lease) DO UPDATE SET may_lack_parts = true;

-- Rows that are given to another lease, or another kind, and tables that are emptied at once.
CREATE CONSTRAINT TRIGGER resources_lease_renamed AFTER UPDATE OF path, kind ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.kind IN ('lease', 'reservation') OR NEW.kind IN ('lease', 'reservation')) EXECUTE FUNCTION lease_agrees();
CREATE CONSTRAINT TRIGGER lease_events_renamed AFTER UPDATE OF lease, kind ON lease_events
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lease_agrees();
CREATE TRIGGER resources_emptied AFTER TRUNCATE ON resources FOR EACH STATEMENT EXECUTE FUNCTION leases_agree();
CREATE TRIGGER lease_events_emptied AFTER TRUNCATE ON lease_events FOR EACH STATEMENT EXECUTE FUNCTION leases_agree();

-- Triggers, which call the functions; and the first partitions.

CREATE TRIGGER tokens_changed AFTER INSERT OR DELETE OR UPDATE OF hash, roles, expires_at ON tokens
    FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER sessions_changed AFTER DELETE ON sessions FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER grants_changed AFTER INSERT OR DELETE OR UPDATE ON grants
    FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();
CREATE TRIGGER policies_changed AFTER INSERT OR DELETE OR UPDATE ON policies
    FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();

CREATE TRIGGER resources_used AFTER INSERT OR UPDATE OF state ON resources FOR EACH ROW
    WHEN (NEW.kind IN ('machine', 'disk')) EXECUTE FUNCTION update_quota_use();

CREATE TRIGGER resources_lanes AFTER INSERT ON resources REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION check_lanes();

-- A lease, its reservations and its events: what one of them does, the others do in the same transaction; and at its end
-- they are looked at together.

CREATE TRIGGER resources_lease_moved AFTER UPDATE OF state ON resources FOR EACH ROW
    WHEN (NEW.kind = 'lease' AND NEW.state <> OLD.state) EXECUTE FUNCTION on_lease_state_change();
CREATE TRIGGER resources_lease_gone AFTER DELETE ON resources FOR EACH ROW
    WHEN (OLD.kind = 'lease') EXECUTE FUNCTION on_lease_delete();
CREATE TRIGGER resources_reservation_moved AFTER UPDATE OF state ON resources FOR EACH ROW
    WHEN (NEW.kind = 'reservation' AND NEW.state = 'deleted' AND OLD.state <> 'deleted')
    EXECUTE FUNCTION on_reservation_delete();
CREATE TRIGGER resources_node_moved AFTER UPDATE OF state ON resources FOR EACH ROW
    WHEN (NEW.kind = 'node' AND NEW.state <> OLD.state) EXECUTE FUNCTION on_node_state_change();

CREATE CONSTRAINT TRIGGER resources_lease_agrees AFTER INSERT OR UPDATE OF state ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.kind IN ('lease', 'reservation')) EXECUTE FUNCTION check_lease_parts();
CREATE CONSTRAINT TRIGGER resources_lease_agreed AFTER DELETE ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.kind IN ('lease', 'reservation')) EXECUTE FUNCTION check_lease_parts();
CREATE CONSTRAINT TRIGGER lease_events_agree AFTER INSERT OR UPDATE OF status OR DELETE ON lease_events
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_lease_parts();

-- Rows that are given to another lease, or another kind, and tables that are emptied at once.
CREATE CONSTRAINT TRIGGER resources_lease_renamed AFTER UPDATE OF path, kind ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.kind IN ('lease', 'reservation') OR NEW.kind IN ('lease', 'reservation')) EXECUTE FUNCTION check_lease_parts();
CREATE CONSTRAINT TRIGGER lease_events_renamed AFTER UPDATE OF lease, kind ON lease_events
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_lease_parts();
CREATE TRIGGER resources_emptied AFTER TRUNCATE ON resources FOR EACH STATEMENT EXECUTE FUNCTION check_all_leases();
CREATE TRIGGER lease_events_emptied AFTER TRUNCATE ON lease_events FOR EACH STATEMENT EXECUTE FUNCTION check_all_leases();

INSERT INTO journal_head (after, position, hash)
SELECT last_position, last_position, journal_genesis(last_position) FROM cell;

SELECT create_partitions(7);

-- A lease, its reservations and its events: what one of them does, the others do in the same transaction; and at its end
-- they are looked at together.

CREATE TRIGGER resources_lease_moved AFTER UPDATE OF state ON resources FOR EACH ROW
    WHEN (NEW.kind = 'lease' AND NEW.state <> OLD.state) EXECUTE FUNCTION lease_moved();
CREATE TRIGGER resources_lease_gone AFTER DELETE ON resources FOR EACH ROW
    WHEN (OLD.kind = 'lease') EXECUTE FUNCTION lease_gone();
CREATE TRIGGER resources_reservation_moved AFTER UPDATE OF state ON resources FOR EACH ROW
    WHEN (NEW.kind = 'reservation' AND NEW.state = 'deleted' AND OLD.state <> 'deleted')
    EXECUTE FUNCTION reservation_left();
CREATE TRIGGER resources_node_moved AFTER UPDATE OF state ON resources FOR EACH ROW
    WHEN (NEW.kind = 'node' AND NEW.state <> OLD.state) EXECUTE FUNCTION node_moved();

CREATE CONSTRAINT TRIGGER resources_lease_agrees AFTER INSERT OR UPDATE OF state ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.kind IN ('lease', 'reservation')) EXECUTE FUNCTION lease_agrees();
CREATE CONSTRAINT TRIGGER resources_lease_agreed AFTER DELETE ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.kind IN ('lease', 'reservation')) EXECUTE FUNCTION lease_agrees();
CREATE CONSTRAINT TRIGGER lease_events_agree AFTER INSERT OR UPDATE OF status OR DELETE ON lease_events
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lease_agrees();

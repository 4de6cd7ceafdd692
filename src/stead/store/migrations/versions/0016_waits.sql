-- An operation on a group asked a member for an action that was in progress on it already: the member joined, and the
-- operation waits for that one to end. Several operations may wait for the same one.
CREATE TABLE operation_waits (
    operation uuid NOT NULL,                      -- the one that waits
    path      text COLLATE "C" NOT NULL,          -- of the member
    joined    uuid NOT NULL,                      -- the operation in progress on the member; its record may have ended
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (joined, path, operation)
);
CREATE INDEX operation_waits_operation ON operation_waits (operation, path);

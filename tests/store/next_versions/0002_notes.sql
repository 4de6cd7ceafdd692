ALTER TABLE resources ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE operation_members ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE ended_operations ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE journal ADD COLUMN note text NOT NULL DEFAULT '';
CREATE OR REPLACE FUNCTION first_word(says text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT split_part(says, ' ', 1)
$$;
CREATE INDEX IF NOT EXISTS operation_members_word ON operation_members (first_word(says), path) WHERE outcome <> 'skipped';
CREATE INDEX IF NOT EXISTS journal_actor ON journal (actor, at);

CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.note := 'changed';
    RETURN NEW;
END $$;
CREATE TRIGGER resources_noted BEFORE UPDATE OF state ON resources FOR EACH ROW
    WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION note_change();

-- Servers that remember grants and policies see by the version that these have changed.
CREATE OR REPLACE FUNCTION raise_access_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE access SET version = version + 1;
    RETURN NULL;
END $$;

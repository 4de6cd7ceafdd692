-- Holds a cell whose backup had an older schema.
DO $$ BEGIN
    IF to_regclass('recover_after_migration') IS NOT NULL THEN
        PERFORM recover_cell(custody, hold) FROM recover_after_migration;
        DROP TABLE recover_after_migration;
    END IF;
END $$;

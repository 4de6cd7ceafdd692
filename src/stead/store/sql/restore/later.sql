-- The schema of the backup knows no hold. The migration that brings it does what is said here, in its own transaction.
CREATE TABLE recover_after_migration AS SELECT :custody::float8 AS custody, :hold::boolean AS hold;

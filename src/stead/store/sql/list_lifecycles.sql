-- Every lifecycle that is or was registered, in order of kind.
SELECT kind, version, document, in_force, explored, registered_by, registered_at FROM lifecycles ORDER BY kind

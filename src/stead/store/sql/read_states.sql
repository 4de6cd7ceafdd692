-- Resources by path: what each is, and its state.
SELECT path, kind, state FROM resources WHERE path = ANY ($1::text[])

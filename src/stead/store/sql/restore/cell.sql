-- The row of the cell, which no dump has: without it nobody starts. It is raised in the same transaction.
RESET search_path;
INSERT INTO cell SELECT * FROM jsonb_populate_record(NULL::cell, :'cell'::jsonb);

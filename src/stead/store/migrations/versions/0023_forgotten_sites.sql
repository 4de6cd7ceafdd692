-- Sites that were forgotten, by their lanes: an agent that comes back for one is told so. A site that is made anew under the
-- name takes its entry away when its agent connects.
CREATE TABLE forgotten_sites (
    lane         text COLLATE "C" PRIMARY KEY,
    path         text NOT NULL,
    forgotten_at timestamptz NOT NULL DEFAULT now()
);

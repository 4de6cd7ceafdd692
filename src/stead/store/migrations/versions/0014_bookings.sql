-- For whoever asks who has a host at a time. Not by the index of the constraint: see docs/adr/0032.
CREATE INDEX IF NOT EXISTS allocations_host ON allocations (host, lower(during));

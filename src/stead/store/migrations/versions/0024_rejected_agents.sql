-- By lane, why its provider rejects the agent, as with wrong credentials.
ALTER TABLE agents ADD COLUMN rejected jsonb NOT NULL DEFAULT '{}';

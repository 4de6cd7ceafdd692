-- The journal as an audit trail: each line has the hash of the line before it, followed by its own text. docs/audit.md says
-- how anybody can reckon that again; so the text of a line that is there must never become another. What later migrations
-- add to lines goes in where it is not null, as the last two here.

CREATE OR REPLACE FUNCTION journal_text(
    place bigint, at timestamptz, path text, kind text, operation uuid, principal text, actor text, trigger text, detail text,
    source text, target text, change jsonb, rejections integer, origin text, request text
) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT '{"position": ' || place || ', "at": "' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        || '", "path": ' || to_json(path) || ', "kind": ' || to_json(kind)
        || ', "operation": ' || CASE WHEN operation IS NULL THEN 'null' ELSE '"' || operation || '"' END
        || ', "principal": ' || to_json(principal) || ', "actor": ' || to_json(actor) || ', "trigger": ' || to_json(trigger)
        || ', "detail": ' || to_json(detail) || ', "source": ' || to_json(source) || ', "target": ' || to_json(target)
        || ', "change": ' || change || ', "rejected": '
        || CASE WHEN rejections > 0 THEN 'true' ELSE 'false' END  -- how often is counted later on
        || CASE WHEN origin IS NULL THEN '' ELSE ', "origin": ' || to_json(origin) END
        || CASE WHEN request IS NULL THEN '' ELSE ', "request": ' || to_json(request) END || '}'
$$;

-- What stands for all that was before the first line that has a hash, which comes after this position.
CREATE OR REPLACE FUNCTION journal_genesis(after bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(convert_to('stead journal after ' || after, 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION journal_link(before bytea, first bytea, line text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN sha256(coalesce(before, first) || convert_to(line, 'UTF8'));
END $$;

-- The hash of the last of some lines, in their order, of which the first follows the one with the hash `first`.
CREATE OR REPLACE AGGREGATE journal_chain(first bytea, line text) (SFUNC = journal_link, STYPE = bytea);

-- Tells the journal that somebody has changed who may what, or by which rules.
CREATE OR REPLACE FUNCTION record_access_change(
    subject_kind text, event_name text, acting_principal text, details jsonb, at_path text DEFAULT '/'
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target, change)
    VALUES (at_path, subject_kind, acting_principal, 'admin', 'access', event_name, '', '', details)
$$;

-- Takes lines from before a time out of the journal, all of which are in a file by now. All or nothing: the record, the line
-- that tells of it, and that they are gone are one transaction. The same once more changes nothing.
CREATE OR REPLACE FUNCTION archive_journal(archive jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    since timestamptz := (archive ->> 'until')::timestamptz;
    part  text;
BEGIN
    PERFORM set_config('lock_timeout', '3s', true);  -- whoever reads the journal is waited for, and others not kept for long
    PERFORM FROM cell FOR UPDATE;                     -- nobody numbers meanwhile
    IF EXISTS (SELECT FROM journal_archives a WHERE a.first = (archive ->> 'first')::bigint
                  AND a.last = (archive ->> 'last')::bigint AND encode(a.sha256, 'hex') = archive ->> 'sha256') THEN
        RETURN;
    END IF;
    IF (archive ->> 'first')::bigint <> (SELECT coalesce(max(last), 0) + 1 FROM journal_archives) THEN
        RAISE EXCEPTION 'what is archived ends elsewhere' USING ERRCODE = 'ST005';
    END IF;
    IF since > date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' THEN
        RAISE EXCEPTION 'that day is not over' USING ERRCODE = 'ST005';
    END IF;
    IF EXISTS (SELECT FROM journal WHERE at < since AND (position IS NULL OR position > (archive ->> 'last')::bigint)) THEN
        RAISE EXCEPTION 'there are more lines from then by now' USING ERRCODE = 'ST005';
    END IF;
    INSERT INTO journal_archives (first, last, previous, hash, until, file, sha256, by)
    VALUES ((archive ->> 'first')::bigint, (archive ->> 'last')::bigint, decode(archive ->> 'previous', 'hex'),
            decode(archive ->> 'hash', 'hex'), since, archive ->> 'file', decode(archive ->> 'sha256', 'hex'), archive ->> 'by');
    PERFORM record_access_change('journal', 'archive', archive ->> 'by', archive - 'by');
    FOR part IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'journal'::regclass AND c.relname ~ '^journal_[0-9]{8}$'
           AND (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp AT TIME ZONE 'UTC' <= since
    LOOP
        EXECUTE format('DROP TABLE %I', part);
    END LOOP;
    DELETE FROM journal WHERE at < since;             -- what came when there was no partition for it
END $$;

-- What the sync needs: the wire version of a row that came by KDS, fences of the receivers, and a feed of changed keys.
ALTER TABLE resources ALTER COLUMN owner_name TYPE varchar(253);
ALTER TABLE resources ADD COLUMN IF NOT EXISTS sync_version text;

CREATE TABLE IF NOT EXISTS kds_sessions (
  peer text PRIMARY KEY,
  epoch bigint NOT NULL
);

-- A synced row that is edited stays marked as synced but loses its version: the next resume repairs it.
CREATE OR REPLACE FUNCTION meridian_mark_drift() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.sync_version IS NOT NULL AND NEW.sync_version IS NOT DISTINCT FROM OLD.sync_version
     AND (NEW.spec IS DISTINCT FROM OLD.spec OR NEW.labels IS DISTINCT FROM OLD.labels) THEN
    NEW.sync_version := '';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER meridian_drift BEFORE UPDATE ON resources FOR EACH ROW EXECUTE FUNCTION meridian_mark_drift();

-- Sends the keys of a statement as {"type","keys":[[mesh,name]…]} under the 8,000 bytes of a notification; past 1,000 keys
-- only {"type"}. A notification is a hint: who hears it reads the rows again.
CREATE OR REPLACE FUNCTION meridian_send_keys(kinds text[], meshes text[], names text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  current text;
  batch text := '';
  item text;
BEGIN
  IF cardinality(kinds) > 1000 THEN
    FOR current IN SELECT DISTINCT unnest(kinds) LOOP
      PERFORM pg_notify('meridian_resources', json_build_object('type', current)::text);
    END LOOP;
    RETURN;
  END IF;
  FOR i IN 1 .. coalesce(cardinality(kinds), 0) LOOP
    item := json_build_array(meshes[i], names[i])::text;
    IF batch <> '' AND (current <> kinds[i] OR octet_length(batch) + octet_length(item) > 7000) THEN
      PERFORM pg_notify('meridian_resources', '{"type":' || to_json(current) || ',"keys":[' || batch || ']}');
      batch := '';
    END IF;
    batch := CASE WHEN batch = '' THEN item ELSE batch || ',' || item END;
    current := kinds[i];
  END LOOP;
  IF batch <> '' THEN
    PERFORM pg_notify('meridian_resources', '{"type":' || to_json(current) || ',"keys":[' || batch || ']}');
  END IF;
END $$;

CREATE OR REPLACE FUNCTION meridian_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kinds text[];
  meshes text[];
  names text[];
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    PERFORM pg_notify('meridian_resources', '{}');
    RETURN NULL;
  ELSIF TG_OP = 'UPDATE' THEN
    SELECT array_agg(k.type ORDER BY k.type, k.mesh, k.name), array_agg(k.mesh ORDER BY k.type, k.mesh, k.name), array_agg(k.name ORDER BY k.type, k.mesh, k.name)
      INTO kinds, meshes, names
      FROM (SELECT type, mesh, name FROM changed UNION SELECT type, mesh, name FROM before) k;
  ELSE
    SELECT array_agg(k.type ORDER BY k.type, k.mesh, k.name), array_agg(k.mesh ORDER BY k.type, k.mesh, k.name), array_agg(k.name ORDER BY k.type, k.mesh, k.name)
      INTO kinds, meshes, names
      FROM changed k;
  END IF;
  PERFORM meridian_send_keys(kinds, meshes, names);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER meridian_inserted AFTER INSERT ON resources
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION meridian_notify();
CREATE OR REPLACE TRIGGER meridian_updated AFTER UPDATE ON resources
  REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION meridian_notify();
CREATE OR REPLACE TRIGGER meridian_deleted AFTER DELETE ON resources
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION meridian_notify();
CREATE OR REPLACE TRIGGER meridian_truncated AFTER TRUNCATE ON resources FOR EACH STATEMENT EXECUTE FUNCTION meridian_notify();

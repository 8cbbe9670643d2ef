-- The insights that a fleet writes all the time have a channel of their own: no sender of resources needs them, so most replicas do not
-- listen to it. These are ZoneInsights, and the DataplaneInsights that came by KDS. In a zone the DataplaneInsights of its own proxies
-- decide what is computed and sent, so they stay in the channel of all other rows.
CREATE OR REPLACE FUNCTION meridian_channel(kind text, is_copy boolean) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN kind = 'ZoneInsight' OR (kind = 'DataplaneInsight' AND is_copy) THEN 'meridian_insights' ELSE 'meridian_resources' END
$$;

-- As the function without a channel, which stays for triggers that another program made.
CREATE OR REPLACE FUNCTION meridian_send_keys(channel text, kinds text[], meshes text[], names text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  current text;
  batch text := '';
  item text;
BEGIN
  IF cardinality(kinds) > 1000 THEN
    FOR current IN SELECT DISTINCT unnest(kinds) LOOP
      PERFORM pg_notify(channel, json_build_object('type', current)::text);
    END LOOP;
    RETURN;
  END IF;
  FOR i IN 1 .. coalesce(cardinality(kinds), 0) LOOP
    item := json_build_array(meshes[i], names[i])::text;
    IF batch <> '' AND (current <> kinds[i] OR octet_length(batch) + octet_length(item) > 7000) THEN
      PERFORM pg_notify(channel, '{"type":' || to_json(current) || ',"keys":[' || batch || ']}');
      batch := '';
    END IF;
    batch := CASE WHEN batch = '' THEN item ELSE batch || ',' || item END;
    current := kinds[i];
  END LOOP;
  IF batch <> '' THEN
    PERFORM pg_notify(channel, '{"type":' || to_json(current) || ',"keys":[' || batch || ']}');
  END IF;
END $$;

CREATE OR REPLACE FUNCTION meridian_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  part record;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    PERFORM pg_notify('meridian_resources', '{}');
  ELSIF TG_OP = 'UPDATE' THEN
    FOR part IN
      SELECT k.channel, array_agg(k.type ORDER BY k.type, k.mesh, k.name) AS kinds,
        array_agg(k.mesh ORDER BY k.type, k.mesh, k.name) AS meshes, array_agg(k.name ORDER BY k.type, k.mesh, k.name) AS names
      FROM (SELECT w.type, w.mesh, w.name, meridian_channel(w.type, bool_and(w.sync_version IS NOT NULL)) AS channel
        FROM (SELECT type, mesh, name, sync_version FROM changed UNION ALL SELECT type, mesh, name, sync_version FROM before) w
        GROUP BY w.type, w.mesh, w.name) k
      GROUP BY k.channel
    LOOP
      PERFORM meridian_send_keys(part.channel, part.kinds, part.meshes, part.names);
    END LOOP;
  ELSE
    FOR part IN
      SELECT k.channel, array_agg(k.type ORDER BY k.type, k.mesh, k.name) AS kinds,
        array_agg(k.mesh ORDER BY k.type, k.mesh, k.name) AS meshes, array_agg(k.name ORDER BY k.type, k.mesh, k.name) AS names
      FROM (SELECT type, mesh, name, meridian_channel(type, sync_version IS NOT NULL) AS channel FROM changed) k
      GROUP BY k.channel
    LOOP
      PERFORM meridian_send_keys(part.channel, part.kinds, part.meshes, part.names);
    END LOOP;
  END IF;
  RETURN NULL;
END $$;

-- As before, but for the channel.
CREATE OR REPLACE FUNCTION meridian_keep_row() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  said text := nullif(substr(current_setting('meridian.authors', true), 5), '');
  author text := coalesce(said, meridian_stranger());
  last record;
  next integer;
BEGIN
  -- A row that becomes a copy, or ceases to be one, concerns everybody.
  PERFORM pg_notify(meridian_channel(NEW.type, NEW.sync_version IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.sync_version IS NOT NULL)),
    '{"type":' || to_json(NEW.type) || ',"keys":[' || json_build_array(NEW.mesh, NEW.name) || ']}');
  IF TG_OP = 'UPDATE' THEN
    IF OLD.name <> NEW.name OR OLD.mesh <> NEW.mesh OR OLD.type <> NEW.type THEN
      RAISE EXCEPTION 'a statement with meridian.authors = row must not rename % % of mesh %', OLD.type, OLD.name, OLD.mesh;
    END IF;
    IF OLD.sync_version IS NOT NULL OR (NEW.spec IS NOT DISTINCT FROM OLD.spec AND NEW.labels IS NOT DISTINCT FROM OLD.labels) THEN
      RETURN NULL;
    END IF;
  END IF;
  IF author IS NULL OR NEW.sync_version IS NOT NULL OR NOT meridian_has_history(NEW.type) THEN
    RETURN NULL;
  END IF;
  SELECT h.version, h.action, h.labels, h.spec INTO last FROM meridian_history h
    WHERE h.name = NEW.name AND h.mesh = NEW.mesh AND h.type = NEW.type ORDER BY h.version DESC LIMIT 1;
  next := greatest(NEW.version, last.version + 1);
  -- What stood in the row is kept too, unless it is the last version: a control plane wrote it, or it is older than the history.
  IF TG_OP = 'UPDATE' AND (last.version IS NULL OR last.action = 'deleted' OR last.labels IS DISTINCT FROM coalesce(OLD.labels, '{}')
    OR last.spec IS DISTINCT FROM meridian_kept_spec(OLD.type, OLD.spec)) THEN
    INSERT INTO meridian_history (type, mesh, name, version, row_version, action, author, via, written_at, labels, spec)
    VALUES (OLD.type, OLD.mesh, OLD.name, greatest(OLD.version, last.version + 1), OLD.version,
      CASE OLD.version WHEN 0 THEN 'created' ELSE 'updated' END, NULL, 'unknown', OLD.modification_time, coalesce(OLD.labels, '{}'),
      meridian_kept_spec(OLD.type, OLD.spec));
    next := greatest(NEW.version, OLD.version + 1, last.version + 2);
  END IF;
  INSERT INTO meridian_history (type, mesh, name, version, row_version, action, author, via, labels, spec)
  VALUES (NEW.type, NEW.mesh, NEW.name, next, NEW.version, CASE TG_OP WHEN 'INSERT' THEN 'created' ELSE 'updated' END, author,
    CASE WHEN said IS NULL THEN 'database' ELSE 'api' END, coalesce(NEW.labels, '{}'), meridian_kept_spec(NEW.type, NEW.spec));
  RETURN NULL;
END $$;

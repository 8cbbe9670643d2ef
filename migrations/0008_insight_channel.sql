-- The insights that a fleet writes all the time have a channel of their own: no sender of resources needs them, so most replicas do not
-- listen to it. These are ZoneInsights, and the DataplaneInsights that came by KDS. In a zone the DataplaneInsights of its own proxies
-- decide what is computed and sent, so they stay in the channel of all other rows.
CREATE OR REPLACE FUNCTION meridian_channel(kind text, is_copy boolean) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN kind = 'ZoneInsight' OR (kind = 'DataplaneInsight' AND is_copy) THEN 'meridian_insights' ELSE 'meridian_resources' END
$$;

DROP FUNCTION IF EXISTS meridian_send_keys(text[], text[], text[]);
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

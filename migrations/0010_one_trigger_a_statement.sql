-- A statement that writes to `resources` has one trigger for INSERT and one for UPDATE, which notify and keep the history. PostgreSQL reads
-- the condition of each trigger again for each statement, also for a statement that the trigger does not concern, such as the write of one
-- row by a control plane. The functions run as the owner of the history, without nested loops, as before (0007_history.sql).
CREATE OR REPLACE FUNCTION meridian_rows_inserted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET enable_nestloop = off SET jit = off AS $$
DECLARE
  said text := meridian_author();
  stranger text := meridian_stranger();
  part record;
BEGIN
  -- A PUT that replaces its row comes here too.
  IF NOT EXISTS (SELECT FROM changed) THEN
    RETURN NULL;
  END IF;
  FOR part IN
    SELECT k.channel, array_agg(k.type ORDER BY k.type, k.mesh, k.name) AS kinds,
      array_agg(k.mesh ORDER BY k.type, k.mesh, k.name) AS meshes, array_agg(k.name ORDER BY k.type, k.mesh, k.name) AS names
    FROM (SELECT type, mesh, name, meridian_channel(type, sync_version IS NOT NULL) AS channel FROM changed) k
    GROUP BY k.channel
  LOOP
    PERFORM meridian_send_keys(part.channel, part.kinds, part.meshes, part.names);
  END LOOP;
  -- What control planes write themselves has no history.
  IF stranger IS NULL AND coalesce(current_setting('meridian.authors', true), '') = '' THEN
    RETURN NULL;
  END IF;
  INSERT INTO meridian_history (type, mesh, name, version, row_version, action, author, via, restored, labels, spec)
  SELECT n.type, n.mesh, n.name, greatest(n.version, l.version + 1), n.version, 'created', coalesce(said, a.author, stranger),
    CASE WHEN coalesce(said, a.author) IS NULL THEN 'database' ELSE 'api' END, a.restored, coalesce(n.labels, '{}'),
    meridian_kept_spec(n.type, n.spec)
  FROM changed n
  LEFT JOIN meridian_authors() a ON a.name = n.name AND a.mesh = n.mesh AND a.type = n.type
  LEFT JOIN LATERAL (SELECT h.version FROM meridian_history h
    WHERE h.name = n.name AND h.mesh = n.mesh AND h.type = n.type ORDER BY h.version DESC LIMIT 1) l ON true
  WHERE n.sync_version IS NULL AND meridian_has_history(n.type) AND coalesce(said, a.author, stranger) IS NOT NULL;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION meridian_rows_updated() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET enable_nestloop = off SET jit = off AS $$
DECLARE
  said text := meridian_author();
  stranger text := meridian_stranger();
  part record;
  kept bigint;
BEGIN
  -- A PUT that creates its row comes here too.
  IF NOT EXISTS (SELECT FROM changed) THEN
    RETURN NULL;
  END IF;
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
  IF stranger IS NULL AND coalesce(current_setting('meridian.authors', true), '') = '' THEN
    RETURN NULL;
  END IF;
  -- Nearly always the last version is the one that is replaced. A control plane raises the version of the row by one; others may not.
  INSERT INTO meridian_history (type, mesh, name, version, row_version, action, author, via, restored, labels, spec)
  SELECT n.type, n.mesh, n.name, l.version + 1, n.version, 'updated', coalesce(said, a.author), 'api', a.restored, n.labels, n.spec
  FROM changed n
  LEFT JOIN meridian_authors() a ON a.name = n.name AND a.mesh = n.mesh AND a.type = n.type
  CROSS JOIN LATERAL (SELECT h.version, h.row_version, h.action, h.labels, h.spec FROM meridian_history h
    WHERE h.name = n.name AND h.mesh = n.mesh AND h.type = n.type ORDER BY h.version DESC LIMIT 1) l
  WHERE l.row_version = n.version - 1 AND l.action <> 'deleted' AND l.spec IS NOT NULL
    AND n.sync_version IS NULL AND stranger IS NULL AND coalesce(said, a.author) IS NOT NULL
    AND (n.spec <> l.spec OR n.labels <> l.labels);
  GET DIAGNOSTICS kept = ROW_COUNT;
  IF kept = (SELECT count(*) FROM changed) THEN
    RETURN NULL;
  END IF;
  -- Else what stood in the row is kept too, unless it is the last version: a control plane wrote it, or it is older than the history.
  WITH written AS MATERIALIZED (
    SELECT n.type, n.mesh, n.name, n.version, coalesce(n.labels, '{}') AS labels, meridian_kept_spec(n.type, n.spec) AS spec,
      b.version AS old_version, b.modification_time AS old_time, coalesce(b.labels, '{}') AS old_labels,
      meridian_kept_spec(b.type, b.spec) AS old_spec, coalesce(said, a.author) AS author, a.restored, l.version AS last,
      l.version IS NULL OR l.action = 'deleted' OR l.labels IS DISTINCT FROM coalesce(b.labels, '{}')
        OR l.spec IS DISTINCT FROM meridian_kept_spec(b.type, b.spec) AS is_unknown
    FROM changed n
    JOIN before b ON b.name = n.name AND b.mesh = n.mesh AND b.type = n.type
    LEFT JOIN meridian_authors() a ON a.name = n.name AND a.mesh = n.mesh AND a.type = n.type
    LEFT JOIN LATERAL (SELECT h.version, h.row_version, h.action, h.labels, h.spec FROM meridian_history h
      WHERE h.name = n.name AND h.mesh = n.mesh AND h.type = n.type ORDER BY h.version DESC LIMIT 1) l ON true
    WHERE n.sync_version IS NULL AND b.sync_version IS NULL AND meridian_has_history(n.type)
      AND (n.spec IS DISTINCT FROM b.spec OR n.labels IS DISTINCT FROM b.labels)
      AND coalesce(said, a.author, stranger) IS NOT NULL
      AND NOT coalesce(l.action <> 'deleted' AND l.row_version = n.version AND b.version < n.version, false)
  )
  INSERT INTO meridian_history (type, mesh, name, version, row_version, action, author, via, restored, written_at, labels, spec)
  SELECT type, mesh, name, greatest(old_version, last + 1), old_version, CASE old_version WHEN 0 THEN 'created' ELSE 'updated' END,
    NULL, 'unknown', NULL, old_time, old_labels, old_spec
  FROM written WHERE is_unknown
  UNION ALL
  SELECT type, mesh, name,
    CASE WHEN is_unknown THEN greatest(version, old_version + 1, last + 2) ELSE greatest(version, last + 1) END, version, 'updated',
    coalesce(author, stranger), CASE WHEN author IS NULL THEN 'database' ELSE 'api' END, restored,
    now() at time zone 'utc', labels, spec
  FROM written;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER meridian_inserted AFTER INSERT ON resources
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
  WHEN ((current_setting('meridian.authors', true) LIKE 'row%') IS NOT TRUE) EXECUTE FUNCTION meridian_rows_inserted();
CREATE OR REPLACE TRIGGER meridian_updated AFTER UPDATE ON resources
  REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT
  WHEN ((current_setting('meridian.authors', true) LIKE 'row%') IS NOT TRUE) EXECUTE FUNCTION meridian_rows_updated();
DROP TRIGGER IF EXISTS meridian_history_inserted ON resources;
DROP TRIGGER IF EXISTS meridian_history_updated ON resources;
DROP FUNCTION IF EXISTS meridian_keep_inserted();
DROP FUNCTION IF EXISTS meridian_keep_updated();

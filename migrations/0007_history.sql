-- The history of resources: what a person wrote, who and when. Triggers keep it in the transaction of the write, so that psql and the
-- rows that a deletion takes along are in it. A row that came by KDS has its history where it was written, and what control planes
-- write themselves has none: for such statements the triggers of INSERT and UPDATE do not run.
CREATE TABLE IF NOT EXISTS meridian_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  type varchar(100) COLLATE "C" NOT NULL,
  mesh varchar(100) COLLATE "C" NOT NULL,
  name varchar(253) COLLATE "C" NOT NULL,
  -- That of the row. It goes on counting when a deleted resource is created again, and the row starts at 0.
  version integer NOT NULL,
  row_version integer NOT NULL,
  action text NOT NULL,
  author text,
  via text NOT NULL,
  restored integer,
  written_at timestamp NOT NULL DEFAULT (now() at time zone 'utc'),
  labels jsonb NOT NULL,
  spec text
);
CREATE INDEX IF NOT EXISTS meridian_history_index ON meridian_history (name, mesh, type, version);

-- Types that nobody writes, and types whose spec is not kept.
CREATE OR REPLACE FUNCTION meridian_has_history(kind text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT kind NOT IN ('ZoneInsight', 'DataplaneInsight', 'MeshInsight', 'ServiceInsight', 'Config')
$$;
CREATE OR REPLACE FUNCTION meridian_kept_spec(kind text, spec text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN kind IN ('Secret', 'GlobalSecret') THEN NULL ELSE spec END
$$;

-- Who wrote the rows of this statement, as the control plane says: [{"type","mesh","name","author","restored"}…], or "=alice" for all
-- rows of a statement that deletes none. What another program writes, its role wrote.
CREATE OR REPLACE FUNCTION meridian_author() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN current_setting('meridian.authors', true) LIKE '=%' THEN substr(current_setting('meridian.authors', true), 2) END
$$;
CREATE OR REPLACE FUNCTION meridian_authors() RETURNS TABLE (type text, mesh text, name text, author text, restored integer)
LANGUAGE sql STABLE ROWS 10 AS $$
  SELECT * FROM jsonb_to_recordset(CASE WHEN current_setting('meridian.authors', true) LIKE '[%'
      THEN current_setting('meridian.authors', true)::jsonb ELSE '[]' END)
    AS a(type text, mesh text, name text, author text, restored integer)
$$;
CREATE OR REPLACE FUNCTION meridian_stranger() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN current_setting('application_name') <> 'meridian' THEN session_user::text END
$$;

-- Without nested loops: the plan of one row would compare each row of a large statement with each other. As the owner of the table:
-- the role of a control plane needs no right to write it.
CREATE OR REPLACE FUNCTION meridian_keep_inserted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET enable_nestloop = off SET jit = off AS $$
DECLARE
  said text := meridian_author();
  stranger text := meridian_stranger();
BEGIN
  -- A PUT that replaces its row comes here too.
  IF NOT EXISTS (SELECT FROM changed) THEN
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

CREATE OR REPLACE FUNCTION meridian_keep_updated() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET enable_nestloop = off SET jit = off AS $$
DECLARE
  said text := meridian_author();
  stranger text := meridian_stranger();
  kept bigint;
BEGIN
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

-- The rows that a row takes along have its author. A control plane deletes rows that a person wrote too, together with their owner.
CREATE OR REPLACE FUNCTION meridian_keep_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET enable_nestloop = off SET jit = off AS $$
DECLARE
  stranger text := meridian_stranger();
BEGIN
  WITH written AS MATERIALIZED (
    SELECT g.type, g.mesh, g.name, g.version, g.modification_time AS old_time, coalesce(g.labels, '{}') AS old_labels,
      meridian_kept_spec(g.type, g.spec) AS old_spec, coalesce(a.author, o.author) AS author, l.version AS last,
      l.version IS NULL OR l.action = 'deleted' OR l.labels IS DISTINCT FROM coalesce(g.labels, '{}')
        OR l.spec IS DISTINCT FROM meridian_kept_spec(g.type, g.spec) AS is_unknown
    FROM gone g
    LEFT JOIN meridian_authors() a ON a.name = g.name AND a.mesh = g.mesh AND a.type = g.type
    LEFT JOIN meridian_authors() o ON o.name = g.owner_name AND o.mesh = g.owner_mesh AND o.type = g.owner_type
    LEFT JOIN LATERAL (SELECT h.version, h.action, h.labels, h.spec FROM meridian_history h
      WHERE h.name = g.name AND h.mesh = g.mesh AND h.type = g.type ORDER BY h.version DESC LIMIT 1) l ON true
    WHERE g.sync_version IS NULL AND meridian_has_history(g.type)
      AND (a.author IS NOT NULL OR l.action <> 'deleted'
        OR (coalesce(o.author, stranger) IS NOT NULL
          AND g.type <> 'Workload' AND NOT coalesce(g.labels, '{}') ? 'kuma.io/managed-by'))
  )
  INSERT INTO meridian_history (type, mesh, name, version, row_version, action, author, via, written_at, labels, spec)
  SELECT type, mesh, name, greatest(version, last + 1), version, CASE version WHEN 0 THEN 'created' ELSE 'updated' END,
    NULL, 'unknown', old_time, old_labels, old_spec
  FROM written WHERE is_unknown
  UNION ALL
  SELECT type, mesh, name, CASE WHEN is_unknown THEN greatest(version + 1, last + 2) ELSE greatest(version, last) + 1 END, version,
    'deleted', coalesce(author, stranger),
    CASE WHEN author IS NOT NULL THEN 'api' WHEN stranger IS NULL THEN 'control-plane' ELSE 'database' END,
    now() at time zone 'utc', old_labels, NULL
  FROM written;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER meridian_history_inserted AFTER INSERT ON resources
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
  WHEN (current_setting('meridian.authors', true) <> '' OR current_setting('application_name') <> 'meridian')
  EXECUTE FUNCTION meridian_keep_inserted();
CREATE OR REPLACE TRIGGER meridian_history_updated AFTER UPDATE ON resources
  REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT
  WHEN (current_setting('meridian.authors', true) <> '' OR current_setting('application_name') <> 'meridian')
  EXECUTE FUNCTION meridian_keep_updated();
CREATE OR REPLACE TRIGGER meridian_history_deleted AFTER DELETE ON resources
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION meridian_keep_deleted();

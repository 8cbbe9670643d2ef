-- The Meshes that were deleted here. A zone that has a Mesh of which its global knows nothing keeps it: a global that was restored from
-- an old backup has never had that Mesh, and must not have it removed.
CREATE TABLE IF NOT EXISTS meridian_deleted_meshes (
  name text PRIMARY KEY,
  deleted_at timestamp NOT NULL DEFAULT (now() at time zone 'utc')
);

-- As its owner: the role of a control plane needs no right to write the table.
CREATE OR REPLACE FUNCTION meridian_keep_deleted_meshes() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO meridian_deleted_meshes (name) SELECT DISTINCT name FROM gone WHERE type = 'Mesh'
    ON CONFLICT (name) DO UPDATE SET deleted_at = excluded.deleted_at;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER meridian_deleted_meshes AFTER DELETE ON resources
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION meridian_keep_deleted_meshes();

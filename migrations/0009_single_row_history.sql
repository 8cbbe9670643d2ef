-- A write of one row by a control plane: a trigger of the row notifies and keeps the version, for less than the triggers of the statement
-- cost with their transition tables. The statement asks for it: its `meridian.authors` is "row", or "row=alice". Every statement runs the
-- one or the other, so that no change is lost and none is reported twice.
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

CREATE OR REPLACE TRIGGER meridian_history_row_inserted AFTER INSERT ON resources FOR EACH ROW
  WHEN (current_setting('meridian.authors', true) LIKE 'row%') EXECUTE FUNCTION meridian_keep_row();
CREATE OR REPLACE TRIGGER meridian_history_row_updated AFTER UPDATE ON resources FOR EACH ROW
  WHEN (current_setting('meridian.authors', true) LIKE 'row%') EXECUTE FUNCTION meridian_keep_row();

CREATE OR REPLACE TRIGGER meridian_inserted AFTER INSERT ON resources
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
  WHEN ((current_setting('meridian.authors', true) LIKE 'row%') IS NOT TRUE) EXECUTE FUNCTION meridian_notify();
CREATE OR REPLACE TRIGGER meridian_updated AFTER UPDATE ON resources
  REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT
  WHEN ((current_setting('meridian.authors', true) LIKE 'row%') IS NOT TRUE) EXECUTE FUNCTION meridian_notify();
CREATE OR REPLACE TRIGGER meridian_history_inserted AFTER INSERT ON resources
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
  WHEN ((current_setting('meridian.authors', true) LIKE 'row%') IS NOT TRUE
    AND (current_setting('meridian.authors', true) <> '' OR current_setting('application_name') <> 'meridian'))
  EXECUTE FUNCTION meridian_keep_inserted();
CREATE OR REPLACE TRIGGER meridian_history_updated AFTER UPDATE ON resources
  REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT
  WHEN ((current_setting('meridian.authors', true) LIKE 'row%') IS NOT TRUE
    AND (current_setting('meridian.authors', true) <> '' OR current_setting('application_name') <> 'meridian'))
  EXECUTE FUNCTION meridian_keep_updated();

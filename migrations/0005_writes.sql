-- Room in each page for the next version of its rows: an update that changes no indexed column then writes to no index.
ALTER TABLE resources SET (fillfactor = 80);

-- A notification names the transaction, which is the xmin of the rows that it left: {"type","xid","keys":[[mesh,name]…]}. The
-- process that wrote them knows from it that it need not read them again.
CREATE OR REPLACE FUNCTION meridian_send_keys(kinds text[], meshes text[], names text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  xid text := pg_current_xact_id()::xid::text;
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
      PERFORM pg_notify('meridian_resources', '{"type":' || to_json(current) || ',"xid":"' || xid || '","keys":[' || batch || ']}');
      batch := '';
    END IF;
    batch := CASE WHEN batch = '' THEN item ELSE batch || ',' || item END;
    current := kinds[i];
  END LOOP;
  IF batch <> '' THEN
    PERFORM pg_notify('meridian_resources', '{"type":' || to_json(current) || ',"xid":"' || xid || '","keys":[' || batch || ']}');
  END IF;
END $$;

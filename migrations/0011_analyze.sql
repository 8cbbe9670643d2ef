-- Analyzes `resources` for a control plane that does not own it: PostgreSQL lets the owner alone, and before version 17 it has no
-- privilege to grant for this (decision 86). The function runs as the owner of the table.
CREATE OR REPLACE FUNCTION meridian_analyze() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  ANALYZE (SKIP_LOCKED) resources;
END
$$;

-- What a renamed resource would lose is kept in labels (MADR 029). Rows written before keep NULL, which reads as no labels.
ALTER TABLE resources ADD COLUMN IF NOT EXISTS labels jsonb DEFAULT '{}';
ALTER TABLE resources ADD COLUMN IF NOT EXISTS status jsonb NOT NULL DEFAULT '{}';
CREATE INDEX IF NOT EXISTS resources_labels_index ON resources USING gin (labels jsonb_path_ops);
CREATE INDEX IF NOT EXISTS resources_type_index ON resources (type, mesh, name);

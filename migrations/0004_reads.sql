-- A page of a list in the order of the API, and the rows of a zone by the prefix that names had before they were hashed.
CREATE INDEX IF NOT EXISTS resources_page_index ON resources (type, mesh COLLATE "C", name COLLATE "C");
CREATE INDEX IF NOT EXISTS resources_prefix_index ON resources (name varchar_pattern_ops);
DROP INDEX IF EXISTS resources_type_index;

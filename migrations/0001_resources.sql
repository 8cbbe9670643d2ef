-- The table of a Kuma control plane before labels (kds-wire 7): a dump of one loads as data.
CREATE TABLE IF NOT EXISTS resources (
  name varchar(253) NOT NULL,
  mesh varchar(100) NOT NULL,
  type varchar(100) NOT NULL,
  version integer NOT NULL,
  spec text,
  creation_time timestamp NOT NULL DEFAULT now(),
  modification_time timestamp NOT NULL DEFAULT now(),
  owner_name varchar(100),
  owner_mesh varchar(100),
  owner_type varchar(100),
  status jsonb NOT NULL DEFAULT '{}',
  CONSTRAINT resources_pkey PRIMARY KEY (name, mesh, type),
  CONSTRAINT owner_fk FOREIGN KEY (owner_name, owner_mesh, owner_type) REFERENCES resources (name, mesh, type) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS owner_fk_index ON resources (owner_type, owner_mesh, owner_name);

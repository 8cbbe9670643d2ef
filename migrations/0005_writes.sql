-- Room in each page for the next version of its rows: an update that changes no indexed column then writes to no index.
ALTER TABLE resources SET (fillfactor = 80);

// A worker thread that creates a new PostgreSQL in its data folder. It takes seconds, and only a thread can be stopped in between.
import { workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';

const pglite = await PGlite.create(workerData as string);
await pglite.close();

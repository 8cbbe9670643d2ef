// A worker: makes a new PostgreSQL in the folder of its data. That takes seconds, and can be ended in between as a thread alone.
import { workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';

const pglite = await PGlite.create(workerData as string);
await pglite.close();

// One PostgreSQL for all files of the project, with two template databases: one migrated by Meridian, one by Kuma.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { configOf } from '../support/postgres-database.ts';
import setupPostgres from '../support/postgres-global-setup.ts';
import { KUMA_TEMPLATE, kumaStoreEnv } from './kuma-store.ts';
import { peerProgram } from './peers-folder.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { peersFolder } = project.getProvidedContext();
  const kumaCp = peerProgram(peersFolder, 'kuma-cp');
  for (const program of ['kumactl', 'kuma-dp'] as const) peerProgram(peersFolder, program);
  const stop = await setupPostgres(project);
  try {
    await prepareTemplate(project.getProvidedContext().postgresUrl, kumaCp);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

/** The database that each Kuma control plane clones, as `kuma-cp migrate up` makes it. */
async function prepareTemplate(url: string, kumaCp: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS ${KUMA_TEMPLATE}`);
  await client.query(`CREATE DATABASE ${KUMA_TEMPLATE}`);
  await client.end();
  const env = { ...process.env, ...kumaStoreEnv(configOf(url, KUMA_TEMPLATE)) };
  await promisify(execFile)(kumaCp, ['migrate', 'up'], { env });
}

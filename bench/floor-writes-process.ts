// The floor of a PUT: a bare HTTP server in this language that stores each body with the upsert of pgbench, one statement a request. No
// checks, no history, no notification, no log.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import type { PostgresConfig } from '../src/store/database.ts';
import { policyLabels } from './policies.ts';
import { UPSERT } from './pgbench.ts';

export type FloorWritesCommand = { readonly database: PostgresConfig };
export type FloorWritesReport = { readonly apiPort: number };

type Body = { readonly type: string; readonly mesh: string; readonly name: string; readonly spec: unknown };

/** As many connections as a control plane has by default. */
const CONNECTIONS = 50;
const LABELS = JSON.stringify(policyLabels(1));
const ANSWER = '{}\n';

async function start({ database }: FloorWritesCommand): Promise<FloorWritesReport> {
  const { host, port, user, password, dbName } = database;
  const pool = new pg.Pool({ host, port, user, password, database: dbName, max: CONNECTIONS });
  const store = async (text: string): Promise<void> => {
    const { type, mesh, name, spec } = JSON.parse(text) as Body;
    await pool.query({ name: 'put', text: UPSERT, values: [type, mesh, name, JSON.stringify(spec), LABELS] });
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      store(Buffer.concat(chunks).toString()).then(
        () => response.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length }).end(ANSWER),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { apiPort: (server.address() as AddressInfo).port };
}

process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
process.on('message', (command: FloorWritesCommand) => {
  void start(command).then((report) => process.send?.(report));
});

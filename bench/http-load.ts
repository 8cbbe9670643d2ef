// Load on a REST API by a process of its own, and what the server and its database spend on each answer.
import type { PostgresConfig } from '../src/store/database.ts';
import { answerOf, endChild, startScript } from './children.ts';
import type { LoadCommand, LoadReport } from './http-load-process.ts';
import { cpuNanoseconds } from './measure.ts';
import { databaseCpuSeconds } from './postgres.ts';

export type LoadedServer = { readonly pid: number; readonly apiPort: number; readonly database: PostgresConfig };
/** @property serverUs microseconds of CPU of the server for each answer @property databaseUs the same of the database */
export type Load = LoadReport & { readonly serverUs: number; readonly databaseUs: number };
export type LoadSizes = Omit<LoadCommand, 'port'>;

type HttpLoad = {
  readonly run: (server: LoadedServer, sizes: LoadSizes) => Promise<Load>;
  readonly end: () => Promise<void>;
};

export function startHttpLoad(): HttpLoad {
  const client = startScript('http-load-process.ts');
  return {
    async run({ apiPort: port, pid, database }, sizes) {
      const before = [cpuNanoseconds(pid) / 1e9, await databaseCpuSeconds(database)] as const;
      const report = await answerOf<LoadReport>(client, { ...sizes, port } satisfies LoadCommand);
      const us = (used: number): number => (used / report.answers) * 1e6;
      const serverUs = us(cpuNanoseconds(pid) / 1e9 - before[0]);
      return { ...report, serverUs, databaseUs: us((await databaseCpuSeconds(database)) - before[1]) };
    },
    end: () => endChild(client),
  };
}

/** `PUT, 1 connection` */
export function putsOn(connections: number): string {
  return `PUT, ${String(connections)} ${connections === 1 ? 'connection' : 'connections'}`;
}

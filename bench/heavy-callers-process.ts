// A process with one heavy caller: begins when it is asked to, and goes on until it is ended.
import { Agent, request } from 'node:http';
import { takeCommands } from './commands.ts';
import { forgedToken } from './forged-token.ts';
import {
  dataplane,
  FIRST_HEAVY,
  longRoute,
  MOVING,
  REMOTE,
  ROUTE,
  timeoutForAll,
  worstYaml,
  type HeavyCaller,
} from './heavy-documents.ts';

export type HeavyCommand = { readonly port: number; readonly caller: HeavyCaller; readonly mesh: string };

const YAML_CONNECTIONS = 12;
const PREVIEWS = 4;
const FORGED_CONNECTIONS = 16;
const FORGED_TOKEN = forgedToken({ Name: 'jo', exp: 4e9, jti: 'x' });

const agent = new Agent({ keepAlive: true });

type Call = { readonly method: string; readonly path: string; readonly headers?: Record<string, string>; readonly body?: string };

/** Resolves with the answer, or when there is none. */
async function ask(port: number, { method, path, headers = {}, body = '' }: Call): Promise<void> {
  await new Promise<void>((resolve) => {
    const options = { host: '127.0.0.1', port, method, path, agent, headers: { 'content-type': 'application/json', ...headers } };
    const call = request(options, (response) => response.resume().once('close', resolve)).once('error', () => resolve());
    call.end(body);
  });
}

async function repeat(work: (count: number) => Promise<void>): Promise<never> {
  for (let count = FIRST_HEAVY; ; count += 1) await work(count);
}

/** @property count a document of a change */
function callOf(caller: HeavyCaller, mesh: string): { readonly connections: number; readonly of: (count: number) => Call } {
  const remote = { 'x-forwarded-for': REMOTE };
  switch (caller) {
    case 'previews': {
      const body = JSON.stringify([timeoutForAll(mesh)]);
      return { connections: PREVIEWS, of: () => ({ method: 'POST', path: '/_preview', headers: remote, body }) };
    }
    case 'route': {
      const path = `/meshes/${mesh}/meshhttproutes/${ROUTE}`;
      return { connections: 1, of: (count) => ({ method: 'PUT', path, body: JSON.stringify(longRoute(mesh, count)) }) };
    }
    case 'dataplane': {
      const path = `/meshes/${mesh}/dataplanes/${MOVING}`;
      return {
        connections: 1,
        of: (count) => ({ method: 'PUT', path, body: JSON.stringify(dataplane(mesh, MOVING, 1, count)) }),
      };
    }
    case 'yaml': {
      const headers = { ...remote, 'content-type': 'application/yaml' };
      return { connections: YAML_CONNECTIONS, of: () => ({ method: 'POST', path: '/_format', headers, body: worstYaml() }) };
    }
    case 'forged': {
      const headers = { ...remote, authorization: `Bearer ${FORGED_TOKEN}` };
      return { connections: FORGED_CONNECTIONS, of: () => ({ method: 'GET', path: '/meshes', headers }) };
    }
  }
}

function begin({ port, caller, mesh }: HeavyCommand): void {
  const { connections, of } = callOf(caller, mesh);
  for (let n = 0; n < connections; n += 1) void repeat((count) => ask(port, of(count)));
}

takeCommands((command: HeavyCommand) => {
  begin(command);
  return 'calling';
});

// A process with one heavy caller: begins when it is asked to, and goes on until it is ended.
import { Agent, request } from 'node:http';
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
/** `up`: ready for a command. `calling`: the first call was made. */
export type HeavyReport = 'up' | 'calling';

const YAML_CONNECTIONS = 12;
const PREVIEWS = 4;
const FORGED_CONNECTIONS = 16;
/** In the form of a token of this control plane; the signature is none. */
const FORGED = [{ alg: 'RS256', kid: '1', typ: 'JWT' }, { Name: 'jo', exp: 4e9, jti: 'x' }, 'x'.repeat(254)]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.');

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

function begin({ port, caller, mesh }: HeavyCommand): void {
  const times = (count: number, work: (count: number) => Promise<void>): void => {
    for (let n = 0; n < count; n += 1) void repeat(work);
  };
  const remote = { 'x-forwarded-for': REMOTE };
  if (caller === 'previews') {
    const body = JSON.stringify([timeoutForAll(mesh)]);
    times(PREVIEWS, () => ask(port, { method: 'POST', path: '/_preview', headers: remote, body }));
  } else if (caller === 'route')
    times(1, (count) =>
      ask(port, { method: 'PUT', path: `/meshes/${mesh}/meshhttproutes/${ROUTE}`, body: JSON.stringify(longRoute(mesh, count)) }),
    );
  else if (caller === 'dataplane')
    times(1, (count) =>
      ask(port, {
        method: 'PUT',
        path: `/meshes/${mesh}/dataplanes/${MOVING}`,
        body: JSON.stringify(dataplane(mesh, MOVING, 1, count)),
      }),
    );
  else if (caller === 'yaml') {
    const headers = { ...remote, 'content-type': 'application/yaml' };
    times(YAML_CONNECTIONS, () => ask(port, { method: 'POST', path: '/_format', headers, body: worstYaml() }));
  } else {
    const headers = { ...remote, authorization: `Bearer ${FORGED}` };
    times(FORGED_CONNECTIONS, () => ask(port, { method: 'GET', path: '/meshes', headers }));
  }
}

function report(message: HeavyReport): void {
  process.send?.(message);
}

process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit(0));
process.once('message', (command: HeavyCommand) => {
  begin(command);
  report('calling');
});
report('up');

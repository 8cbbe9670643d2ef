// One request on a connection of its own. A control plane that is away is an answer too.
import { request } from 'node:http';

/**
 * Longer than any request takes: a request reads and writes a few times, each within 9 s (src/store/answer-in-time.ts). If the client gave
 * up before, its write could be stored after its next write of the same resource.
 */
const PATIENCE_MS = 60_000;
/** The port of a process that is away. */
export const NO_PORT = 0;

/** `status` 0: no answer, or a connection that was lost before its end. */
export type Answer = { readonly status: number; readonly text: string };

export type Call = {
  readonly port: number;
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: string;
};

export async function call({ port, method, path, body }: Call): Promise<Answer> {
  if (port === NO_PORT) return { status: 0, text: '' };
  return await new Promise((resolve) => {
    const none = (): void => resolve({ status: 0, text: '' });
    const headers = {
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const asked = request({ host: '127.0.0.1', port, method, path, headers, agent: false, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('error', none);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    asked.on('error', none);
    asked.end(body);
  });
}

/** Follows the events of a control plane for that long, and goes away without a word. @returns the status, 0 without an answer */
export async function follow(port: number, seconds: number): Promise<number> {
  if (port === NO_PORT) return 0;
  return await new Promise((resolve) => {
    let status = 0;
    const options = {
      host: '127.0.0.1',
      port,
      path: '/_events',
      agent: false,
      signal: AbortSignal.timeout(Math.ceil(seconds * 1_000)),
    };
    const asked = request(options, (response) => {
      status = response.statusCode ?? 0;
      response.on('error', () => undefined).resume();
    });
    asked.on('error', () => undefined);
    asked.on('close', () => resolve(status));
    asked.end();
  });
}

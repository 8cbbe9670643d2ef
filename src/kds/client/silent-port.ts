// Whether a port answers nothing at all, as behind a cut network. A dial into silence waits for the kernel, which asks again after 1, 3, 7, 15
// seconds: after the cut it would lose up to half of the time that the cut took. Attempts that are short and many lose none.
import { connect } from 'node:net';
import type { Clock } from '../../base/clock.ts';

/** Milliseconds without an answer, in which the kernel asks twice. A host far away answers in a fraction of the first. */
const SILENT_MS = 2_000;

/** With one of these in the environment, gRPC dials a proxy in place of the address. */
const PROXY_SETTINGS = ['grpc_proxy', 'https_proxy', 'http_proxy'];

/**
 * Resolves to false as soon as the host answers, also with a refusal: the dial that follows says why.
 * @param address `host:port`
 */
export async function isSilent(address: string, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (PROXY_SETTINGS.some((name) => (process.env[name] ?? '') !== '')) return false;
  const { hostname, port } = new URL(`grpc://${address}`);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
  const answer = Promise.withResolvers<boolean>();
  const cancel = clock.after(SILENT_MS, () => answer.resolve(true));
  for (const event of ['connect', 'error']) socket.once(event, () => answer.resolve(false));
  const stop = (): void => answer.resolve(false);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    return await answer.promise;
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
    socket.destroy();
  }
}

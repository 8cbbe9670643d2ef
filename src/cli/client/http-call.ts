// One HTTP exchange with a control plane: a bearer token, TLS by the caller's CA, a time limit. Invariant: an unreachable control
// plane is an `unavailable` error with a remedy, and no error repeats the token.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { http, https } from '../../base/node-http.ts';
import { UsageError } from '../exit-codes.ts';
import { unreachable } from './unreachable.ts';

/** A control plane: its address, credentials and CA. */
export type Endpoint = {
  /** It begins with `http://` or `https://`, and has no trailing slash. */
  readonly address: string;
  readonly token?: string | undefined;
  /** The certificates and the key are PEM texts. */
  readonly ca?: string | undefined;
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
  readonly skipVerify?: boolean | undefined;
};

export type Call = {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds for the whole exchange. The default is one minute. */
  readonly limitMs?: number | undefined;
};

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };

const LIMIT_MS = 60_000;
/** The time without data after which a stream ends. A control plane sends a heartbeat every 15 s. */
const SILENCE_MS = 60_000;

/** @throws MeridianError `unavailable`, or UsageError for an address that is not a URL */
export async function exchange(endpoint: Endpoint, call: Call): Promise<Answer> {
  const limitMs = call.limitMs ?? LIMIT_MS;
  try {
    const response = await send(endpoint, call, AbortSignal.timeout(limitMs));
    return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) };
  } catch (error) {
    throw unreachable(endpoint.address, error, limitMs);
  }
}

/** An answer with a streamed body, which ends with the signal. @throws as `exchange` */
export async function openStream(endpoint: Endpoint, call: Call, signal: AbortSignal): Promise<IncomingMessage> {
  try {
    const response = await send(endpoint, call, signal);
    response.setTimeout(SILENCE_MS, () => response.destroy(new Error('no data for a minute')));
    return response;
  } catch (error) {
    throw unreachable(endpoint.address, error, LIMIT_MS);
  }
}

async function send(endpoint: Endpoint, call: Call, signal: AbortSignal): Promise<IncomingMessage> {
  const { address, token, ca, clientCert, clientKey, skipVerify } = endpoint;
  if (!/^https?:\/\/[^/]/.test(address) || !URL.canParse(address + call.path))
    throw new UsageError(`${JSON.stringify(address)} is not an address of a control plane; write it as http://HOST:PORT`);
  const headers = {
    accept: '*/*',
    ...call.headers,
    ...(call.body !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(call.body)),
    }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const request = address.startsWith('https:')
    ? https().request(address + call.path, {
        method: call.method,
        headers,
        signal,
        ca,
        cert: clientCert,
        key: clientKey,
        rejectUnauthorized: skipVerify !== true,
      })
    : http.request(address + call.path, { method: call.method, headers, signal });
  return await new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
    request.end(call.body);
  });
}

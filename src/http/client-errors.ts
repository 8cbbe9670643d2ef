// Answers bytes that are not a valid HTTP request, or a request over a limit. No hook and no route handles them, so the whole answer
// is made here, in the form of other errors (rest-api 2.6).
import type { Socket } from 'node:net';
import { http } from '../base/node-http.ts';
import { ApiError, errorBody } from './error-body.ts';
import { prettyJson } from './pretty-json.ts';

const NO_REQUEST: readonly [status: number, detail: string] = [400, 'the bytes are not an HTTP/1.1 request'];
/** Answers by the code of Node's error. */
const KNOWN: Readonly<Record<string, typeof NO_REQUEST>> = {
  HPE_HEADER_OVERFLOW: [431, 'the path and the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not come in time'],
};

/** Handles the event `clientError`. The connection ends with the answer. */
export function refuseClient({ code = '' }: NodeJS.ErrnoException, socket: Pick<Socket, 'writable' | 'end' | 'destroy'>): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, detail] = KNOWN[code] ?? NO_REQUEST;
  const body = prettyJson(errorBody(new ApiError('bad_request', 'Bad Request', detail, [], { status })));
  const head = [
    `HTTP/1.1 ${String(status)} ${http.STATUS_CODES[status] ?? ''}`,
    'content-type: application/json',
    `content-length: ${String(Buffer.byteLength(body))}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

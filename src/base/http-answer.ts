// The answer to a request of this process, read as a whole.
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';

export type HttpAnswer = {
  readonly status: number;
  /** It is null for a body with more bytes than allowed. */
  readonly body: Buffer | null;
};

/**
 * Sends a request and reads its answer. Rejects with the error of the connection.
 * @param content of the request
 */
export async function httpAnswer(request: ClientRequest, maxBytes: number, content = ''): Promise<HttpAnswer> {
  // An error after the head of the answer goes to the reader of its body.
  request.on('error', () => undefined);
  request.end(content);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await bytesOf(response, maxBytes) };
}

async function bytesOf(response: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

// A request to a control plane over TLS, bounded in size.
import { request as requestSecure } from 'node:https';
import { isIP } from 'node:net';
import { httpAnswer } from '../base/http-answer.ts';
import { MeridianError } from '../base/errors.ts';

type Post = {
  /** A name or an IP address: that of the certificate. */
  readonly host: string;
  /** PEM; `''` for the CAs that the system trusts. */
  readonly ca: string;
  /** JSON. */
  readonly body: string;
  readonly signal: AbortSignal;
};

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** @throws MeridianError `bad_request` for an answer that is too large, else the error of the connection */
export async function post(url: string, { host, ca, body, signal }: Post): Promise<{ status: number; text: string }> {
  const request = requestSecure(url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    },
    signal,
    agent: false,
    ...(ca !== '' && { ca }),
    // An IP address is no server name.
    ...(isIP(host) === 0 && { servername: host }),
  });
  const answer = await httpAnswer(request, MAX_ANSWER_BYTES, body);
  if (answer.body === null) throw new MeridianError('bad_request', 'the answer is larger than 4 MiB');
  return { status: answer.status, text: answer.body.toString('utf8') };
}

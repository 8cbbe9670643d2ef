// The error of a control plane that cannot be reached, with a remedy for each cause.
import { MeridianError, messageOf } from '../../base/errors.ts';

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/** @param limitMs the time limit of the exchange in milliseconds */
export function unreachable(address: string, error: unknown, limitMs: number): MeridianError {
  if (error instanceof MeridianError) return error;
  const { code = '', name } = error as { code?: string; name?: string };
  const about = `cannot reach a control plane at ${address}`;
  const reason = name === 'TimeoutError' || code === 'ABORT_ERR' ? `no answer within ${String(limitMs / 1000)} s` : code;
  return new MeridianError('unavailable', `${about} (${reason === '' ? messageOf(error) : reason}).\n${remedyFor(code)}`, {
    cause: error,
  });
}

function remedyFor(code: string): string {
  if (UNTRUSTED.has(code))
    return 'This machine does not trust its certificate: give the CA that signed it with --ca-cert-file FILE.';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'Its certificate is for other host names: use one of those in --address, or issue one for this.';
  if (code === 'EPROTO' || code.startsWith('ERR_SSL') || code.startsWith('HPE_'))
    return 'The server speaks another protocol: try http:// in place of https://, or the reverse.';
  if (code === 'ECONNRESET')
    return 'The server closed the connection: try https:// in place of http://, or the port of the REST API (5681, or 5682 with https).';
  return code === 'ECONNREFUSED'
    ? 'Nothing listens there. Wait if it is starting; use https:// and its port (5682) if apiServer.http is off; start one with `meridian global run`; or name another with --address or --context.'
    : 'Start one with `meridian global run`, or name another with --address or --context.';
}

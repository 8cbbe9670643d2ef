// The reason why a zone has no connection to global, for people: one sentence with what to set, in place of the words of gRPC and
// Node. Pure.
import { messageOf } from '../../base/errors.ts';

type Remedy = readonly [symptom: RegExp, reason: string];

/** The remedies for an address with `grpcs://`. */
const WITH_TLS: readonly Remedy[] = [
  [
    /self-signed certificate|unable to verify the first|unable to get (local )?issuer/i,
    'the certificate of global is not trusted: set multizone.zone.kds.rootCaFile to the CA that signed it',
  ],
  [/certificate has expired/i, 'the certificate of global has expired: renew it there'],
  [
    /does not match certificate's altnames|ALTNAME/i,
    'the certificate of global is for other host names: use one of them in multizone.zone.globalAddress, or issue one for this name',
  ],
  [
    /wrong version number|packet length too long|EPROTO|http request/i,
    'global answers without TLS: write grpc:// in place of grpcs:// in multizone.zone.globalAddress',
  ],
  [
    /alert (certificate required|bad certificate|unknown ca)/i,
    'global asks for a client certificate: set multizone.zone.kds.tlsCertFile and multizone.zone.kds.tlsKeyFile',
  ],
];

/** The remedies for an address with `grpc://`: a TLS port ends a connection that begins without TLS. */
const WITHOUT_TLS: readonly Remedy[] = [
  [
    /Failed to connect|ECONNRESET|socket hang up|Connection dropped|Protocol error|closed before/i,
    'the port ends the connection at once: if it has TLS, write grpcs:// in place of grpc:// in multizone.zone.globalAddress',
  ],
];

const ALWAYS: readonly Remedy[] = [
  [/ECONNREFUSED/, 'nothing listens at the address: start global, or correct multizone.zone.globalAddress'],
  [
    /ENOTFOUND|EAI_AGAIN|Name resolution failed/i,
    'the host name cannot be resolved: correct multizone.zone.globalAddress, or the DNS',
  ],
  [/EHOSTUNREACH|ENETUNREACH|ETIMEDOUT/, 'the host does not answer: check the network and multizone.zone.globalAddress'],
];

/** @param hasTls whether the zone uses TLS */
export function connectionReason(error: unknown, hasTls: boolean): string {
  const text = messageOf(error);
  const known = [...ALWAYS, ...(hasTls ? WITH_TLS : WITHOUT_TLS)].find(([symptom]) => symptom.test(text));
  if (known !== undefined) return known[1];
  return text
    .replace(/^\d+ [A-Z_]+: /, '')
    .replace(/\.? ?Resolution note:.*$/s, '')
    .replace(/; if the root CA is installed locally, try running Node\.js with --use-system-ca/, '');
}

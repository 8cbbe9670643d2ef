import { expect, it } from 'vitest';
import { connectionReason } from './connection-reason.ts';

const NODE = '; if the root CA is installed locally, try running Node.js with --use-system-ca';
const unavailable = (text: string): Error =>
  new Error(`14 UNAVAILABLE: No connection established. Last error: Error: ${text}. Resolution note: `);

it.each([
  [`self-signed certificate${NODE}`, true, 'multizone.zone.kds.rootCaFile'],
  [`unable to verify the first certificate${NODE}`, true, 'multizone.zone.kds.rootCaFile'],
  ['certificate has expired', true, 'has expired'],
  ["Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list", true, 'other host names'],
  ['write EPROTO 1C:error:0A00010B:SSL routines:ssl3_get_record:wrong version number', true, 'write grpc://'],
  ['Failed to connect', false, 'write grpcs://'],
  ['read ECONNRESET', false, 'write grpcs://'],
  ['connect ECONNREFUSED 127.0.0.1:5685', false, 'nothing listens'],
  ['connect ECONNREFUSED 127.0.0.1:5685', true, 'nothing listens'],
  ['getaddrinfo ENOTFOUND global.example', true, 'cannot be resolved'],
])('%s, with TLS %s, says what to set', (text, hasTls, says) => {
  const reason = connectionReason(unavailable(text), hasTls);
  expect(reason).toContain(says);
  expect(reason).not.toMatch(/Node\.js|Resolution note|UNAVAILABLE/);
});

it('another reason has no words of gRPC and Node', () => {
  expect(connectionReason(new Error('14 UNAVAILABLE: it stops'), true)).toBe('it stops');
  expect(connectionReason(unavailable(`odd${NODE}`), true)).toBe('No connection established. Last error: Error: odd');
});

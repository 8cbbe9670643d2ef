// MeshZoneAddress (policies 2.9): the address at which other zones reach a zone's ingress, as Kuma control planes tell each other
// (D27).
import { z } from 'zod';
import { address, port } from '../schema/spec-fields.ts';
import { withRules } from '../schema/spec-rules.ts';
import { child } from '../resource/spec-path.ts';

const UNSPECIFIED = new Set<unknown>(['0.0.0.0', '::']);

export const meshZoneAddressSpec = withRules(
  z.object({
    address: address().describe('IP address or DNS name at which other zones reach the ingress.'),
    port: port().describe('The port at which other zones reach the ingress.'),
  }),
  (spec, path, findings) => {
    if (UNSPECIFIED.has(spec['address'])) findings.violation(child(path, 'address'), 'must not be the unspecified address');
  },
);

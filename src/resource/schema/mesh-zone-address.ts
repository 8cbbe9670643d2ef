// MeshZoneAddress (policies 2.9): where other zones reach a zone's ingress, as Kuma control planes tell each other (D27).
import { z } from 'zod';
import { address, port } from './spec-fields.ts';
import { withRules } from './spec-rules.ts';
import { child } from './spec-path.ts';

const UNSPECIFIED = new Set<unknown>(['0.0.0.0', '::']);

export const meshZoneAddressSpec = withRules(z.object({ address: address(), port: port() }), (spec, path, findings) => {
  if (UNSPECIFIED.has(spec['address'])) findings.violation(child(path, 'address'), 'must not be the unspecified address');
});

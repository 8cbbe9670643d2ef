// MeshRateLimit and MeshFaultInjection put gateways under `to[]` and sidecars under `from[]` or `rules[]` (policies 1.2).
import type { JsonObject } from '../resource/types.ts';
import type { Findings } from './findings.ts';
import { items } from '../resource/json-access.ts';
import { selectsGateways, type Section } from './policy-frame.ts';

/** Refuses `to[]` where no gateway can be selected, and the `inbound` sections where one can. */
export function checkGatewaySections(spec: JsonObject, inbound: readonly Section[], findings: Findings): void {
  const isGateway = selectsGateways(spec);
  for (const section of ['to', ...inbound] as const) {
    if (items(spec[section]).length === 0 || (section === 'to') === isGateway) continue;
    findings.violation(
      `spec.${section}`,
      section === 'to'
        ? 'must not be set where targetRef selects no gateways: use rules'
        : 'must not be set where targetRef may select gateways: use targetRef.kind Dataplane, or proxyTypes [Sidecar]',
    );
  }
}

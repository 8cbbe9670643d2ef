// The checks of MeshHTTPRoute and MeshTCPRoute: the allowed top-level kinds and the number of `to[]` entries (MADR 063, policies 2.5).
import type { JsonObject } from '../resource/types.ts';
import type { Findings } from './findings.ts';
import { at, items } from '../resource/json-access.ts';
import { checkFrame, type PolicyDocument } from './policy-frame.ts';
import { SERVICE_TYPES } from '../resource/type-registry.ts';

/** `Mesh` is there for routes of a MeshGateway alone. */
export const ROUTE_TO_KINDS = [...SERVICE_TYPES, 'Mesh'] as const;

/** The descriptions of `to` of a route and of its targetRef. */
export const ROUTED_TO = 'The service whose traffic the route leads elsewhere: one item.';
export const ROUTED_SERVICE = 'The service that clients call.';

/** Checks the sections of a route: one entry in `to[]`, which routes of the whole mesh only should keep to. */
export function checkRouteFrame(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ gateway: 'system' }, spec, document, findings);
  const to = items(spec['to']);
  if (to.length > 1) {
    if (document.role === 'system')
      findings.warning('spec.to', `several entries are deprecated: make a ${document.type} for each`);
    else
      findings.violation('spec.to', `must have exactly one entry in a ${document.role ?? 'namespaced'} policy, not ${to.length}`);
  }
  if (at(spec, 'targetRef.kind') === 'MeshGateway') return;
  for (const [index, item] of to.entries()) {
    if (at(item, 'targetRef.kind') === 'Mesh')
      findings.violation(`spec.to[${index}].targetRef.kind`, `must be one of ${SERVICE_TYPES.join(', ')}, not "Mesh"`);
  }
}

/** Hostnames belong to gateways; requests to a service have its hostname. */
export function hostnamesAreEmpty(spec: JsonObject, findings: Findings): void {
  if (at(spec, 'targetRef.kind') === 'MeshGateway') return;
  for (const [index, item] of items(spec['to']).entries()) {
    if (items(at(item, 'hostnames')).length > 0)
      findings.violation(`spec.to[${index}].hostnames`, 'must be empty: only routes of a MeshGateway have hostnames');
  }
}

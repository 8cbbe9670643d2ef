// A route in Gateway API form: a mesh route as an equivalent document, an HTTPRoute or TCPRoute unchanged. Pure.
// Invariant: a route that Gateway API cannot express is refused with every unsupported field, and nothing is printed for it.
import { fromMeshRoute, type GatewayDocument } from '../gateway-api/from-mesh-route.ts';
import { serviceResolver } from '../gateway-api/service-resolver.ts';
import { documentOf, GATEWAY_TYPES } from '../gateway-api/stored-document.ts';
import { label } from '../resource/labels.ts';
import { zoneNamed } from '../resource/ownership.ts';
import type { DocumentedResource } from './universal-form.ts';

/** The types with this form. */
export const GATEWAY_FORM_TYPES = ['MeshHTTPRoute', 'MeshTCPRoute', ...GATEWAY_TYPES];

/**
 * @param route a route of one of `GATEWAY_FORM_TYPES`
 * @param services the services of its mesh, for the port of a backend without one
 * @param timeouts MeshTimeouts of its mesh: the one that was derived from the route is included
 */
export function toGatewayForm(
  route: DocumentedResource,
  { services, timeouts }: { readonly services: readonly DocumentedResource[]; readonly timeouts: readonly DocumentedResource[] },
): GatewayDocument {
  if (GATEWAY_TYPES.has(route.type)) return { document: documentOf(route) };
  // A user's MeshTimeout is a separate policy and stays one.
  const made = timeouts.find(({ name, labels }) => name === route.name && labels[label.managedBy] === 'gateway-api');
  const resolve = serviceResolver(services, route.mesh, zoneNamed(route.labels) ?? null);
  return fromMeshRoute(route, { timeout: made, resolve });
}

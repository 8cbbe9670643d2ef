// `get --format gateway-api`: mesh routes as the Gateway API documents that say the same, and HTTPRoutes as they were written.
// Invariant: a route that Gateway API cannot say is named with every field in the way; nothing is printed in its place.
import { MeridianError, type Violation } from '../base/errors.ts';
import { fromMeshRoute } from '../gateway-api/from-mesh-route.ts';
import { serviceResolver } from '../gateway-api/service-resolver.ts';
import { documentOf, GATEWAY_TYPES } from '../gateway-api/stored-document.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { SERVICE_TYPES, type TypeInfo, typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import type { Item } from './client/api-client.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import { note } from './output.ts';
import { objectOf } from '../resource/read-json.ts';

/** What `--format gateway-api` takes. */
const CONVERTIBLE = ['MeshHTTPRoute', 'MeshTCPRoute', ...GATEWAY_TYPES];

/** All items of a type in one mesh, as `ApiClient.list` gives them. */
type List = (info: TypeInfo, mesh: string) => Promise<readonly Item[]>;

/** `refused` names each route that Gateway API cannot say, `default/slow`, with the fields in the way. */
export type GatewayFormat = {
  readonly documents: readonly JsonObject[];
  readonly refused: readonly { readonly route: string; readonly violations: readonly Violation[] }[];
};

/**
 * The form of `get --format gateway-api`. Of several routes those that can be said are given, the others noted; the exit code is 1.
 * @throws UsageError for a type that is no route; MeridianError `invalid` with the fields in the way when nothing is left to give
 */
export async function gatewayForm(
  info: TypeInfo,
  items: readonly Item[],
  client: { readonly list: List },
): Promise<JsonObject[]> {
  if (!CONVERTIBLE.includes(info.name))
    throw new UsageError(`--format gateway-api shows ${CONVERTIBLE.join(', ')}; ${info.name} has no form there`);
  const { documents, refused } = await gatewayFormatOf(items, (type, mesh) => client.list(type, mesh));
  if (refused.length === 0) return [...documents];
  const lines = refused.flatMap(({ route, violations }) =>
    violations.map(({ field, reason }) => `  ${route}: ${field}: ${reason}`),
  );
  const text = `Gateway API has no words for ${refused.length === 1 ? 'this route' : 'these routes'}:\n${lines.join('\n')}`;
  if (documents.length === 0) throw new MeridianError('invalid', text);
  note(text);
  process.exitCode = EXIT.failed;
  return [...documents];
}

/**
 * The documents of routes, in the same order.
 * @param list reads services, for the port of a backend that is named without one, and the MeshTimeouts that were made of routes
 */
export async function gatewayFormatOf(routes: readonly Item[], list: List): Promise<GatewayFormat> {
  const documents: JsonObject[] = [];
  const refused: { route: string; violations: readonly Violation[] }[] = [];
  const meshes = new Map<string, ReturnType<typeof surroundings>>();
  for (const item of routes) {
    const route = rowOf(item);
    if (GATEWAY_TYPES.has(route.type)) {
      documents.push(documentOf(route));
      continue;
    }
    const known = meshes.get(route.mesh) ?? surroundings(route.mesh, list);
    meshes.set(route.mesh, known);
    const { services, timeouts } = await known;
    const zone = route.labels[label.zone] ?? null;
    const outcome = fromMeshRoute(route, {
      timeout: timeouts.get(route.name),
      resolve: serviceResolver(services, route.mesh, zone),
    });
    if ('document' in outcome) documents.push(outcome.document);
    else refused.push({ route: `${route.mesh}/${displayNameOf(route)}`, violations: outcome.violations });
  }
  return { documents, refused };
}

type Row = {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly labels: Labels;
  readonly spec: JsonObject;
  readonly status?: JsonObject;
};

/** What a conversion asks of a mesh, read once: services, and by stored name the MeshTimeouts that belong to a route of that name. */
async function surroundings(mesh: string, list: List): Promise<{ services: Row[]; timeouts: Map<string, Row> }> {
  const services = (await Promise.all(SERVICE_TYPES.map((type) => list(typeOf(type), mesh)))).flat().map(rowOf);
  const timeouts = (await list(typeOf('MeshTimeout'), mesh)).map(rowOf);
  // One that a person wrote is a policy of its own and stays one.
  const made = timeouts.filter(({ labels }) => labels[label.managedBy] === 'gateway-api');
  return { services, timeouts: new Map(made.map((row) => [row.name, row])) };
}

function rowOf(item: Item): Row {
  const { type, name, mesh = '', labels = {} } = item;
  return { type, name, mesh, labels, spec: objectOf(item['spec']), status: objectOf(item['status']) };
}

// The fields of a conf that a route can have. The other fields never become part of a route's key (MADR 063, D11, D12).
import type { Confs } from '../policies/confs.ts';
import type { RouteKind } from '../policies/routes.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { isObject, objectOf, objectsOf } from '../resource/read-json.ts';

type Pick = (conf: JsonObject) => JsonObject;
/** Fields of a conf, as its schema has them. */
type Fields<T extends keyof Confs> = readonly (keyof Confs[T])[];
type Http = NonNullable<Confs['MeshTimeout']['http']>;
type HashPolicy = NonNullable<Confs['MeshLoadBalancingStrategy']['hashPolicies']>[number];

const HTTP_TIMES: readonly (keyof Http)[] = ['requestTimeout', 'streamIdleTimeout'];
const TCP_TIMES: Fields<'MeshTimeout'> = ['idleTimeout'];
const HTTP_RETRIES: Fields<'MeshRetry'> = ['http', 'grpc'];
const TCP_RETRIES: Fields<'MeshRetry'> = ['tcp'];
const HASHES: Fields<'MeshLoadBalancingStrategy'> = ['hashPolicies'];
const LOGS: Fields<'MeshAccessLog'> = ['backends'];
const CONNECTION: HashPolicy['type'] = 'Connection';

const FIELDS: ReadonlyMap<string, Readonly<Record<RouteKind, Pick>>> = new Map<keyof Confs, Readonly<Record<RouteKind, Pick>>>([
  [
    'MeshTimeout',
    { MeshHTTPRoute: ({ http }) => given({ http: pick(http, HTTP_TIMES) }), MeshTCPRoute: (conf) => pick(conf, TCP_TIMES) },
  ],
  ['MeshRetry', { MeshHTTPRoute: (conf) => pick(conf, HTTP_RETRIES), MeshTCPRoute: (conf) => pick(conf, TCP_RETRIES) }],
  ['MeshLoadBalancingStrategy', { MeshHTTPRoute: (conf) => pick(conf, HASHES), MeshTCPRoute: connectionHashing }],
  ['MeshAccessLog', { MeshHTTPRoute: (conf) => pick(conf, LOGS), MeshTCPRoute: (conf) => pick(conf, LOGS) }],
]);

/** Whether policies of this type can be configured per route. */
export function hasRouteFields(type: string): boolean {
  return FIELDS.has(type);
}

/** The part of a conf that a route of this kind can have; may be empty. */
export function routeFields(type: string, routeKind: string, conf: JsonObject): JsonObject {
  const fields = FIELDS.get(type);
  return fields === undefined || (routeKind !== 'MeshHTTPRoute' && routeKind !== 'MeshTCPRoute') ? {} : fields[routeKind](conf);
}

/** A TCP route can hash on the connection only. `[]`, which disables hashing, stays. */
function connectionHashing(conf: JsonObject): JsonObject {
  const all = conf['hashPolicies'];
  if (!Array.isArray(all)) return {};
  const usable = objectsOf(all).filter(({ type }) => type === CONNECTION);
  return usable.length === 0 && all.length > 0 ? {} : { hashPolicies: usable };
}

function pick(value: Json | undefined, keys: readonly string[]): JsonObject {
  const object = objectOf(value);
  return Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(object, key) ? [[key, object[key] ?? null]] : [])));
}

/** Without empty objects. */
function given(conf: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(conf).filter(([, value]) => !isObject(value) || Object.keys(value).length > 0));
}

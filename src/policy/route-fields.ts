// The fields of a conf that a route can have. The other fields never become part of a route's key (MADR 063, D11, D12).
import type { Json, JsonObject } from '../resource/types.ts';
import { isObject, objectOf, objectsOf } from '../resource/read-json.ts';

type Pick = (conf: JsonObject) => JsonObject;

const FIELDS: ReadonlyMap<string, Readonly<Record<'MeshHTTPRoute' | 'MeshTCPRoute', Pick>>> = new Map([
  [
    'MeshTimeout',
    {
      MeshHTTPRoute: ({ http }: JsonObject) => given({ http: pick(http, ['requestTimeout', 'streamIdleTimeout']) }),
      MeshTCPRoute: (conf: JsonObject) => pick(conf, ['idleTimeout']),
    },
  ],
  [
    'MeshRetry',
    {
      MeshHTTPRoute: (conf: JsonObject) => pick(conf, ['http', 'grpc']),
      MeshTCPRoute: (conf: JsonObject) => pick(conf, ['tcp']),
    },
  ],
  [
    'MeshLoadBalancingStrategy',
    { MeshHTTPRoute: (conf: JsonObject) => pick(conf, ['hashPolicies']), MeshTCPRoute: connectionHashing },
  ],
  [
    'MeshAccessLog',
    {
      MeshHTTPRoute: (conf: JsonObject) => pick(conf, ['backends']),
      MeshTCPRoute: (conf: JsonObject) => pick(conf, ['backends']),
    },
  ],
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
  const usable = objectsOf(all).filter(({ type }) => type === 'Connection');
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

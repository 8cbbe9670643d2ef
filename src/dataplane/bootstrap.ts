// The configuration that an Envoy starts with, as a control plane answered it: where its admin interface is, and more control planes
// than the one that answered. Pure.
import { parse } from 'yaml';
import { MeridianError } from '../base/errors.ts';
import { isObject, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ControlPlaneAddress } from './control-plane-address.ts';

/** Where Envoy answers about itself. */
export type AdminAddress = { readonly socketPath: string } | { readonly host: string; readonly port: number };

/** @param body of a 200 answer. @throws MeridianError `bad_request` for an answer without a bootstrap */
export function readBootstrapAnswer(body: string): JsonObject {
  let bootstrap: unknown;
  try {
    const answer: unknown = JSON.parse(body);
    bootstrap = parse(Buffer.from(textOf(objectOf(answer)['bootstrap']), 'base64').toString('utf8'));
  } catch (cause) {
    throw new MeridianError('bad_request', 'the answer to POST /bootstrap cannot be read', { cause });
  }
  if (isObject(bootstrap) && isObject(bootstrap['node'])) return bootstrap;
  throw new MeridianError('bad_request', 'the answer to POST /bootstrap holds no configuration of Envoy');
}

/** Names the bootstrap at the control plane that made it; `''` for that of a control plane which does not ask when a proxy leaves. */
export function runOf(bootstrap: JsonObject): string {
  return textOf(objectOf(objectOf(bootstrap['node'])['metadata'])['meridian.run']);
}

/** @throws MeridianError `bad_request` for a bootstrap without an admin interface */
export function adminAddressOf(bootstrap: JsonObject): AdminAddress {
  const address = objectOf(objectOf(bootstrap['admin'])['address']);
  const socketPath = textOf(objectOf(address['pipe'])['path']);
  if (socketPath !== '') return { socketPath };
  const socket = objectOf(address['socketAddress'] ?? address['socket_address']);
  const host = textOf(socket['address']);
  const port = Number(socket['portValue'] ?? socket['port_value'] ?? 0);
  if (host !== '' && port > 0) return { host, port };
  throw new MeridianError('bad_request', 'the bootstrap of the control plane has no admin interface, which this command needs');
}

/**
 * The bootstrap with every given control plane in the cluster of the configuration stream, so that Envoy goes to another when one
 * does not answer. The certificate of each must be for its own host. A bootstrap of another form stays as it is.
 */
export function withControlPlanes(bootstrap: JsonObject, addresses: readonly ControlPlaneAddress[]): JsonObject {
  const resources = objectOf(bootstrap['staticResources']);
  const clusters = objectsOf(resources['clusters']);
  const stream = clusters.find(({ name }) => name === STREAM_CLUSTER);
  if (addresses.length < 2 || stream === undefined) return bootstrap;
  const lbEndpoints = addresses.map(({ host, port }) => ({
    endpoint: { address: { socketAddress: { address: host, portValue: port } }, hostname: host },
  }));
  const socket = objectOf(stream['transportSocket']);
  const spread = {
    ...stream,
    loadAssignment: { clusterName: STREAM_CLUSTER, endpoints: [{ lbEndpoints }] },
    transportSocket: { ...socket, typedConfig: { ...objectOf(socket['typedConfig']), autoHostSni: true } },
  };
  return {
    ...bootstrap,
    staticResources: {
      ...resources,
      clusters: clusters.map((cluster) => (cluster === stream ? spread : cluster)),
      secrets: objectsOf(resources['secrets']).map((secret) => withHosts(secret, addresses)),
    },
  };
}

const STREAM_CLUSTER = 'system_ads';

/** The secret, with the names of all control planes among those that a certificate may have. */
function withHosts(secret: JsonObject, addresses: readonly ControlPlaneAddress[]): JsonObject {
  const context = secret['validationContext'];
  if (!isObject(context) || secret['name'] !== 'cp_validation_ctx') return secret;
  const names = addresses.flatMap(({ host }) => ['DNS', 'IP_ADDRESS'].map((sanType) => ({ sanType, matcher: { exact: host } })));
  return { ...secret, validationContext: { ...context, matchTypedSubjectAltNames: names } };
}

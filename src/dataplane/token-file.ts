// The token of a proxy as a file that Envoy reads by itself: it shows the new token on its next stream, without a new start.
import { isObject, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

const SECRET = 'meridian_dataplane_token';
const TYPE = 'type.googleapis.com/envoy.';
const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
/** The first Envoy whose clusters can add a credential to requests. */
const SINCE = [1, 33] as const;

/** Whether an Envoy of this version, such as `1.40.0`, can read its token from a file. Pure. */
export function readsTokenFile(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > SINCE[0] || (major === SINCE[0] && minor >= SINCE[1]);
}

/** The content of the file: a DiscoveryResponse with one secret. Pure. */
export function tokenSecret(token: string): JsonObject {
  const genericSecret = { secret: { inlineString: token } };
  return { resources: [{ '@type': `${TYPE}extensions.transport_sockets.tls.v3.Secret`, name: SECRET, genericSecret }] };
}

/**
 * The bootstrap with a configuration stream that shows the token of a file, and without the token: Envoy's admin pages show a bootstrap,
 * and no secret. A bootstrap of another form, or without a token, stays as it is. Pure.
 * @param path absolute, of a file that is replaced by a rename
 */
export function withTokenFile(bootstrap: JsonObject, path: string): JsonObject {
  const resources = objectOf(bootstrap['staticResources']);
  const ads = objectOf(objectOf(bootstrap['dynamicResources'])['adsConfig']);
  const [service = {}] = objectsOf(ads['grpcServices']);
  const name = textOf(objectOf(service['envoyGrpc'])['clusterName']);
  const clusters = objectsOf(resources['clusters']);
  const metadata = objectsOf(service['initialMetadata']);
  const others = metadata.filter(({ key }) => key !== 'authorization');
  const stream = clusters.find((cluster) => cluster['name'] === name);
  const options = objectOf(objectOf(stream?.['typedExtensionProtocolOptions'])[HTTP_OPTIONS]);
  if (others.length === metadata.length || stream === undefined || !isObject(options['explicitHttpConfig'])) return bootstrap;
  const filters = [
    injector(path),
    filter('envoy.filters.http.upstream_codec', 'extensions.filters.http.upstream_codec.v3.UpstreamCodec'),
  ];
  const showing = { ...stream, typedExtensionProtocolOptions: { [HTTP_OPTIONS]: { ...options, httpFilters: filters } } };
  const withoutToken = (api: JsonObject): JsonObject => ({ ...api, grpcServices: [{ ...service, initialMetadata: others }] });
  const health = bootstrap['hdsConfig'];
  return {
    ...bootstrap,
    dynamicResources: { ...objectOf(bootstrap['dynamicResources']), adsConfig: withoutToken(ads) },
    // The stream of health goes to the same cluster.
    ...(isObject(health) && { hdsConfig: withoutToken(health) }),
    staticResources: { ...resources, clusters: clusters.map((cluster) => (cluster === stream ? showing : cluster)) },
  };
}

function injector(path: string): JsonObject {
  const sdsConfig = { pathConfigSource: { path }, resourceApiVersion: 'V3' };
  return filter('envoy.filters.http.credential_injector', 'extensions.filters.http.credential_injector.v3.CredentialInjector', {
    overwrite: true,
    credential: filter('envoy.http.injected_credentials.generic', 'extensions.http.injected_credentials.generic.v3.Generic', {
      credential: { name: SECRET, sdsConfig },
      header: 'authorization',
    }),
  });
}

function filter(name: string, type: string, config: JsonObject = {}): JsonObject {
  return { name, typedConfig: { '@type': TYPE + type, ...config } };
}

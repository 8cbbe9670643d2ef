// A mesh with a proxy that has an inbound of each protocol, and outbounds to services of each protocol and kind.
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { make } from '../policy/make-resource.ts';

const PROTOCOLS = ['http', 'http2', 'grpc', 'tcp'];
const east = { zone: 'east' };

function shop(networking: JsonObject): Resource[] {
  return [
    make('Mesh', 'default', {}),
    make('MeshOpenTelemetryBackend', 'collector', { endpoint: { address: 'otel', port: 4317 } }),
    ...PROTOCOLS.map((protocol) =>
      make(
        'MeshService',
        protocol,
        {
          selector: { dataplaneLabels: { matchLabels: { app: 'shop' } } },
          ports: [{ name: 'main', port: 80, targetPort: protocol, appProtocol: protocol }],
        },
        east,
      ),
    ),
    make('MeshMultiZoneService', 'everywhere', {
      selector: { meshService: { matchLabels: { 'kuma.io/display-name': 'http' } } },
      ports: [{ port: 80, appProtocol: 'http' }],
    }),
    make('MeshExternalService', 'outside', { match: { type: 'HostnameGenerator', port: 443, protocol: 'http' } }),
    make('MeshHTTPRoute', 'route', {
      to: [
        {
          targetRef: { kind: 'MeshService', labels: { 'kuma.io/display-name': 'http' } },
          rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/route' } }], default: {} }],
        },
      ],
    }),
    make(
      'Dataplane',
      'shop',
      {
        networking: {
          address: '10.0.0.1',
          inbound: PROTOCOLS.map((protocol, at) => ({ name: protocol, port: 8080 + at, protocol })),
          outbound: [
            ...PROTOCOLS.map((name, at) => ({ port: 10_080 + at, backendRef: { kind: 'MeshService', name, port: 80 } })),
            { port: 10_090, backendRef: { kind: 'MeshMultiZoneService', name: 'everywhere', port: 80 } },
            { port: 10_091, backendRef: { kind: 'MeshExternalService', name: 'outside' } },
          ],
          ...networking,
        },
      },
      { zone: 'east', labels: { app: 'shop' } },
    ),
  ];
}

export const shopRows = shop({});
/** Connections to the proxy and from its application are redirected to it. */
export const transparentShopRows = shop({
  transparentProxying: { redirectPortInbound: 15_006, redirectPortOutbound: 15_001, ipFamilyMode: 'DualStack' },
});
export const FEATURES = { ...WITHOUT_FEATURES, tcpLogPipe: '/dev/null', adminSocket: '/tmp/admin.sock' };

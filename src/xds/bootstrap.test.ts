// The whole bootstrap of an Envoy, and what its node says of it.
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import { bootstrapConfig, nodeMetadata, type BootstrapOptions } from './bootstrap.ts';

const OPTIONS: BootstrapOptions = {
  mesh: 'shop',
  name: 'cart-1',
  controlPlane: { host: 'zone.example', port: 5678 },
  caCert: 'PEM',
  token: 'secret',
  workdir: '/run/dp',
  metadata: { workdir: '/run/dp' },
  reportsHealth: true,
};

describe('the bootstrap of an Envoy', () => {
  it('leads to its control plane, by TLS and with its token', () => {
    expect(stringify(bootstrapConfig(OPTIONS), { lineWidth: 0 })).toMatchInlineSnapshot(`
      "node:
        id: shop.cart-1
        cluster: cart-1
        metadata:
          workdir: /run/dp
      admin:
        address:
          pipe:
            path: /run/dp/kuma-envoy-admin.sock
            mode: 384
        ignoreGlobalConnLimit: true
      dynamicResources:
        ldsConfig: &a1
          ads: {}
          resourceApiVersion: V3
          initialFetchTimeout: 0s
        cdsConfig: *a1
        adsConfig:
          apiType: DELTA_GRPC
          transportApiVersion: V3
          setNodeOnFirstMessageOnly: true
          grpcServices: &a2
            - envoyGrpc:
                clusterName: system_ads
              initialMetadata:
                - key: authorization
                  value: secret
      hdsConfig:
        apiType: GRPC
        transportApiVersion: V3
        setNodeOnFirstMessageOnly: true
        grpcServices: *a2
      staticResources:
        clusters:
          - name: system_ads
            type: STRICT_DNS
            connectTimeout: 10s
            loadAssignment:
              clusterName: system_ads
              endpoints:
                - lbEndpoints:
                    - endpoint:
                        address:
                          socketAddress:
                            address: zone.example
                            portValue: 5678
            typedExtensionProtocolOptions:
              envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
                "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
                explicitHttpConfig:
                  http2ProtocolOptions: {}
            upstreamConnectionOptions:
              tcpKeepalive:
                keepaliveProbes: 3
                keepaliveTime: 10
                keepaliveInterval: 10
            transportSocket:
              name: envoy.transport_sockets.tls
              typedConfig:
                "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
                sni: zone.example
                commonTlsContext:
                  tlsParams:
                    tlsMinimumProtocolVersion: TLSv1_2
                  validationContextSdsSecretConfig:
                    name: cp_validation_ctx
        secrets:
          - name: cp_validation_ctx
            validationContext:
              trustedCa:
                inlineBytes: UEVN
              matchTypedSubjectAltNames:
                - sanType: DNS
                  matcher:
                    exact: zone.example
                - sanType: IP_ADDRESS
                  matcher:
                    exact: zone.example
      layeredRuntime:
        layers:
          - name: meridian
            staticLayer:
              re2.max_program_size.error_level: 4294967295
              re2.max_program_size.warn_level: 1000
      overloadManager:
        resourceMonitors:
          - name: envoy.resource_monitors.global_downstream_max_connections
            typedConfig:
              "@type": type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig
              maxActiveDownstreamConnections: "50000"
      defaultRegexEngine:
        name: envoy.regex_engines.google_re2
        typedConfig:
          "@type": type.googleapis.com/envoy.extensions.regex_engines.v3.GoogleRE2
      statsConfig:
        statsTags:
          - tagName: name
            regex: ^grpc\\.((.+)\\.)
          - tagName: status
            regex: ^grpc.*streams_closed(_([0-9]+))
          - tagName: worker
            regex: (worker_([0-9]+)\\.)
          - tagName: listener
            regex: ^((.+?)\\.)rbac\\.
      "
    `);
  });

  it('has no tag of statistics that looks for a beginning of any length at each place of a name', () => {
    const tags = objectsOf(objectOf(bootstrapConfig(OPTIONS)['statsConfig'])['statsTags']);
    expect(tags.map(({ regex }) => textOf(regex)).filter((regex) => !/^(\^|\(\w)/.test(regex))).toEqual([]);
    const listener = new RegExp(textOf(tags.find(({ tagName }) => tagName === 'listener')?.['regex']));
    expect(listener.exec('http.self_inbound_dp_main.rbac.allowed')?.slice(1)).toEqual([
      'http.self_inbound_dp_main.',
      'http.self_inbound_dp_main',
    ]);
  });

  it('has no token and no stream of its health where there is none', () => {
    const { dynamicResources, hdsConfig } = bootstrapConfig({ ...OPTIONS, token: '', reportsHealth: false });
    expect(hdsConfig).toBeUndefined();
    expect(dynamicResources).toMatchObject({ adsConfig: { grpcServices: [{ initialMetadata: [] }] } });
  });
});

describe('the metadata of a node', () => {
  it('has the facts of the launcher about the proxy', () => {
    const request = {
      ...{ workdir: '/run/dp', version: { kumaDp: { version: '2.11.0' } }, features: ['feature-reuse-port'], dnsPort: 15_053 },
      ...{ dataplaneResource: '{}', dynamicMetadata: { a: 'b' }, systemCaPath: '/etc/ca.pem', ipv6Enabled: true },
      ...{ readinessPort: 9902, metricsResources: { certPath: '/c', keyPath: '/k' } },
    };
    expect(nodeMetadata(request)).toEqual({
      'dataplane.resource': '{}',
      'dataplane.proxyType': 'dataplane',
      'dataplane.admin.socketPath': '/run/dp/kuma-envoy-admin.sock',
      'dataplane.dns.port': '15053',
      'dataplane.readinessReporter.port': '9902',
      features: ['feature-reuse-port'],
      version: { kumaDp: { version: '2.11.0' } },
      workdir: '/run/dp',
      metricsCertPath: '/c',
      metricsKeyPath: '/k',
      systemCaPath: '/etc/ca.pem',
      ipv6Enabled: true,
      dynamicMetadata: { a: 'b' },
    });
  });

  it('has a value for each field that the launcher leaves out', () => {
    expect(nodeMetadata({ features: 'none', ipv6Enabled: 'true', dynamicMetadata: {} })).toEqual({
      'dataplane.proxyType': 'dataplane',
      'dataplane.admin.socketPath': '/kuma-envoy-admin.sock',
      'dataplane.dns.port': '0',
      'dataplane.readinessReporter.port': '0',
      features: [],
      version: {},
      workdir: '',
      metricsCertPath: '',
      metricsKeyPath: '',
      systemCaPath: '',
      ipv6Enabled: false,
    });
  });
});

// MeshService, MeshExternalService, MeshMultiZoneService, HostnameGenerator, MeshZoneAddress: good and bad specs (policies 2.7 to 2.9).
import { describe, expect, it } from 'vitest';
import { createSelfSigned } from '../base/self-signed.ts';
import { globalHostnameGenerators, zoneHostnameGenerators } from '../defaults/default-resources.ts';
import { find, findIn, NOTHING_FOUND } from './spec-table.fixture.ts';

const SELECTOR = 'selector: { dataplaneTags: { app: redis } }';
const [ONE, OTHER] = await Promise.all([
  createSelfSigned('client', ['one'], new Date()),
  createSelfSigned('client', ['other'], new Date()),
]);
const inline = (value: string): string => `{ type: InsecureInline, insecureInline: { value: ${JSON.stringify(value)} } }`;
const endpoint = (value: string): string => `match: { port: 443 }\nendpoints: [${value}]`;
const tls = (value: string): string =>
  `match: { port: 443 }\nendpoints: [{ address: a.b, port: 1 }]\ntls: { verification: ${value} }`;
const BESIDE = 'holds a private key, which everyone who may read the resource could read: write the certificates alone';
const generator = (template: string): string => `selector: { meshService: { matchLabels: { a: b } } }\ntemplate: '${template}'`;
const TEMPLATE =
  'must be a template of an RFC 1123 name with {{ .Name }}, {{ .DisplayName }}, {{ .Namespace }}, {{ .Mesh }}, {{ .Zone }} or {{ label "key" }}';

describe('service resources', () => {
  it.each([
    [
      'MeshService',
      `selector: { dataplaneTags: { app: redis, k8s.kuma.io/namespace: kuma-demo } }
ports: [{ port: 6739, targetPort: 6739, appProtocol: tcp }, { name: some-port, port: 16739, targetPort: target-port-from-container, appProtocol: tcp }]
zoneIngress: { address: 192.168.0.1, port: 10002, sni: ae10a8071b8a8eeb8.backend.8080.demo.ms }`,
    ],
    [
      'MeshService',
      'selector: { dataplaneRef: { name: a } }\nstate: Unavailable\nidentities: [{ type: SpiffeID, value: "spiffe://a/b" }]',
    ],
    [
      'MeshExternalService',
      'match: { type: HostnameGenerator, port: 443, protocol: http2 }\nendpoints: [{ address: api.external.com, port: 443 }]\ntls: { enabled: true }',
    ],
    ['MeshExternalService', endpoint('{ address: 10.0.0.1, port: 1, priority: 128 }, { address: "::1", port: 2 }')],
    [
      'MeshExternalService',
      tls(
        `{ mode: SkipSAN, serverName: a, subjectAltNames: [{ value: a }, { type: Prefix, value: b }], caCert: ${inline(OTHER.certPem)}, clientCert: { type: Secret, secretRef: { kind: Secret, name: c } }, clientKey: { type: Secret, secretRef: { kind: Secret, name: c } } }`,
      ),
    ],
    ['MeshExternalService', tls('{ caCert: { type: Secret, secretRef: { kind: Secret, name: c } } }')],
    [
      'MeshExternalService',
      'match: { port: 443 }\nextension: { type: Lambda, config: { a: 1 } }\nendpoints: [{ address: no address, port: 0 }]\ntls: { version: { min: any } }',
    ],
    [
      'MeshMultiZoneService',
      'selector: { meshService: { matchLabels: { a: b } } }\nports: [{ port: 80, name: http, appProtocol: http }]',
    ],
    ['HostnameGenerator', generator('{{ label "a/b" }}.{{.Name}}.{{- .Namespace -}}.svc.{{ .Zone }}.mesh.local')],
    ['HostnameGenerator', 'selector: { meshMultiZoneService: {} }\ntemplate: a\nextension: { type: a, config: 5 }'],
    ['MeshZoneAddress', 'address: zone.example\nport: 10001'],
    ['Workload', '{}'],
  ])('%s may be %s', (type, spec) => {
    expect(findIn(type, spec)).toEqual(NOTHING_FOUND);
  });

  it('may be the default HostnameGenerators', () => {
    for (const { spec } of [...globalHostnameGenerators, ...zoneHostnameGenerators])
      expect(find('HostnameGenerator', spec)).toEqual(NOTHING_FOUND);
  });

  it.each([
    [
      'MeshService',
      `selector: { dataplaneTags: {}, dataplaneLabels: {} }`,
      'selector.dataplaneTags: must not be set beside dataplaneLabels: a service has one selector',
    ],
    ['MeshService', `${SELECTOR}\nports: [{ port: 0 }]`, 'ports[0].port: must be a whole number from 1 to 65535'],
    [
      'MeshService',
      `${SELECTOR}\nports: [{ port: 1, targetPort: 65536 }]`,
      'ports[0].targetPort: must be a port from 1 to 65535 or the name of an inbound',
    ],
    [
      'MeshService',
      `${SELECTOR}\nports: [{ port: 1, targetPort: true }]`,
      'ports[0].targetPort: must be a port from 1 to 65535 or the name of an inbound',
    ],
    [
      'MeshService',
      `${SELECTOR}\nports: [{ port: 1, appProtocol: udp }]`,
      'ports[0].appProtocol: must be one of tcp, http, http2, grpc, not "udp"',
    ],
    ['MeshService', `${SELECTOR}\nstate: Gone`, 'state: must be one of Available, Unavailable, not "Gone"'],
    [
      'MeshService',
      `${SELECTOR}\nzoneIngress: { address: a b, port: 1, sni: c }`,
      'zoneIngress.address: must be an IP address or a DNS name',
    ],
    ['MeshExternalService', 'endpoints: [{ address: a, port: 1 }]', 'match: must be given: an object'],
    ['MeshExternalService', endpoint('{ address: a_b, port: 1 }'), 'endpoints[0].address: must be an IP address or a DNS name'],
    [
      'MeshExternalService',
      endpoint('{ address: a, port: 1, priority: 129 }'),
      'endpoints[0].priority: must be a whole number from 0 to 128',
    ],
    [
      'MeshExternalService',
      tls('{ clientCert: { type: Secret, secretRef: { kind: Secret, name: a } } }'),
      'tls.verification.clientKey: must be given beside clientCert',
    ],
    [
      'MeshExternalService',
      tls('{ caCert: { secretRef: { kind: Secret, name: a } } }'),
      'tls.verification.caCert.type: must be given: one of Secret, InsecureInline',
    ],
    [
      'MeshExternalService',
      tls('{ caCert: { type: Secret } }'),
      'tls.verification.caCert.secretRef: must be given with type Secret',
    ],
    [
      'MeshMultiZoneService',
      'selector: { meshService: {} }\nports: [{ port: 1 }]',
      'selector.meshService.matchLabels: must have at least one label',
    ],
    [
      'MeshMultiZoneService',
      'selector: { meshService: { matchLabels: { a: b } } }\nports: []',
      'ports: must have at least 1 item',
    ],
    [
      'HostnameGenerator',
      'selector: {}\ntemplate: a',
      'selector: must have exactly one of meshService, meshExternalService, meshMultiZoneService',
    ],
    ['HostnameGenerator', generator('{{ .Port }}.a'), `template: ${TEMPLATE}`],
    ['HostnameGenerator', generator('{{ .Name }.a'), `template: ${TEMPLATE}`],
    ['HostnameGenerator', generator('a_{{ .Name }}'), `template: ${TEMPLATE}`],
    ['MeshZoneAddress', 'address: 0.0.0.0\nport: 1', 'address: must not be the unspecified address'],
    ['MeshZoneAddress', 'port: 1', 'address: must be given: an IP address or a DNS name'],
  ])('%s may not be %s', (type, spec, line) => {
    expect(findIn(type, spec)).toEqual({ violations: [`spec.${line}`], warnings: [] });
  });

  it.each([
    ['secret', 'type: Secret with secretRef: { kind: Secret, name: … }'],
    ['inline', 'type: InsecureInline with insecureInline: { value: … }, not in base64'],
    ['inlineString', 'type: InsecureInline with insecureInline: { value: … }'],
  ])('may not have a certificate in the old form %s, and the error names the new form', (key, instead) => {
    expect(findIn('MeshExternalService', tls(`{ caCert: { ${key}: YQ== } }`)).violations).toContain(
      `spec.tls.verification.caCert.${key}: is an older form: write ${instead}`,
    );
  });

  it.each([
    ['an authority that cannot be read', `{ caCert: ${inline('a')} }`, 'caCert', 'is not a certificate in PEM form'],
    [
      'a certificate that cannot be read',
      `{ clientCert: ${inline('a')}, clientKey: ${inline(ONE.keyPem)} }`,
      'clientCert',
      'is not a certificate in PEM form',
    ],
    [
      'a key that cannot be read',
      `{ clientCert: ${inline(ONE.certPem)}, clientKey: ${inline('a')} }`,
      'clientKey',
      'is not a private key in PEM form without a passphrase',
    ],
    [
      'the key of another certificate',
      `{ clientCert: ${inline(ONE.certPem)}, clientKey: ${inline(OTHER.keyPem)} }`,
      'clientKey',
      'is not the key of clientCert',
    ],
    ['a key beside an authority', `{ caCert: ${inline(ONE.certPem + ONE.keyPem)} }`, 'caCert', BESIDE],
    [
      'a key beside a certificate',
      `{ clientCert: ${inline(ONE.keyPem + ONE.certPem)}, clientKey: ${inline(ONE.keyPem)} }`,
      'clientCert',
      BESIDE,
    ],
  ])('MeshExternalService may not have %s', (_, verification, key, reason) => {
    expect(findIn('MeshExternalService', tls(verification)).violations).toEqual([
      `spec.tls.verification.${key}.insecureInline.value: ${reason}`,
    ]);
  });

  it('MeshExternalService may have a key in itself, with a warning', () => {
    const verification = `{ clientCert: ${inline(ONE.certPem + OTHER.certPem)}, clientKey: ${inline(ONE.keyPem)} }`;
    expect(findIn('MeshExternalService', tls(verification))).toEqual({
      violations: [],
      warnings: [
        'spec.tls.verification.clientKey.insecureInline.value: is a private key in the resource itself: keep it in a Secret',
      ],
    });
  });

  it('the certificates of a MeshTrust and of a MeshIdentity stand without a key', () => {
    const both = JSON.stringify(ONE.certPem + ONE.keyPem);
    const bundles = `trustDomain: a.b\ncaBundles: [{ type: Pem, pem: { value: ${both} } }]`;
    expect(findIn('MeshTrust', bundles).violations).toEqual([
      'spec.caBundles[0].pem.value: must be certificates without a private key',
    ]);
    const ca = `{ certificate: ${inline(ONE.certPem + ONE.keyPem)}, privateKey: ${inline(ONE.keyPem)} }`;
    const found = findIn('MeshIdentity', `provider: { type: Bundled, bundled: { ca: ${ca} } }`);
    expect(found).toEqual({
      violations: [`spec.provider.bundled.ca.certificate.insecureInline.value: ${BESIDE}`],
      warnings: [
        'spec.provider.bundled.ca.privateKey.insecureInline.value: is a private key in the resource itself: keep it in a Secret',
      ],
    });
  });

  it('give a warning without a selector or an endpoint', () => {
    expect(findIn('MeshService', 'ports: [{ port: 1 }]').warnings).toEqual([
      'spec.selector: selects no Dataplane: set one of dataplaneRef, dataplaneLabels, dataplaneTags',
    ]);
    expect(findIn('MeshExternalService', 'match: { port: 1 }').warnings).toEqual([
      'spec.endpoints: none given: nothing will answer',
    ]);
  });
});

// MeshExternalService (policies 2.8): a service outside of the mesh, with the TLS that proxies speak to it.
import { isIP } from 'node:net';
import { z } from 'zod';
import {
  authoritiesProblem,
  besideCertificatesProblem,
  certificateChainProblem,
  isKeyOf,
  privateKeyProblem,
} from '../base/pem.ts';
import type { JsonObject } from '../resource/types.ts';
import { dataSourceOfType, dataSourceShape, dataSourceType, INLINE_KEY } from '../schema/data-source.ts';
import { items, textAt } from '../resource/json-access.ts';
import { isDnsName } from '../resource/dns-name.ts';
import { address, choice, extension, flag, integer, must, port, text } from '../schema/spec-fields.ts';
import { withRules, type Rule } from '../schema/spec-rules.ts';
import { child } from '../resource/spec-path.ts';
import { tlsVersion } from '../schema/tls-version.ts';

/** The replacement of each older form, which peers refuse. Rows with an older form are translated for peers (kuma-form.ts). */
const INSTEAD: Readonly<Record<string, string>> = {
  secret: 'type: Secret with secretRef: { kind: Secret, name: … }',
  inline: 'type: InsecureInline with insecureInline: { value: … }, not in base64',
  inlineString: 'type: InsecureInline with insecureInline: { value: … }',
};

const noOlderForm: Rule = (value, path, findings) => {
  if (value['type'] !== undefined) return;
  for (const [key, instead] of Object.entries(INSTEAD))
    if (value[key] !== undefined) findings.violation(child(path, key), `is an older form: write ${instead}`);
};

/** The place of a certificate or key. */
const dataSource = withRules(
  z.object({ type: dataSourceType('Secret', 'InsecureInline'), ...dataSourceShape() }),
  dataSourceOfType,
  noOlderForm,
);

const INLINE = 'insecureInline.value';
const INLINE_PROBLEMS: Readonly<Record<string, (text: string) => string | null>> = {
  caCert: (text) => authoritiesProblem(text) ?? besideCertificatesProblem(text),
  clientCert: (text) => certificateChainProblem(text) ?? besideCertificatesProblem(text),
  clientKey: privateKeyProblem,
};

/**
 * Certificates and keys in the resource itself can be read: else no proxy could speak the TLS. The content of a Secret is not
 * known here.
 */
const readableInline: Rule = (value, path, findings) => {
  const readable = new Map<string, string>();
  for (const [key, problemOf] of Object.entries(INLINE_PROBLEMS)) {
    const text = textAt(value, `${key}.${INLINE}`);
    if (text === '') continue;
    const problem = problemOf(text);
    if (problem === null) readable.set(key, text);
    else findings.violation(`${path}.${key}.${INLINE}`, problem);
  }
  if (readable.has('clientKey')) findings.warning(`${path}.clientKey.${INLINE}`, INLINE_KEY);
  const [chain, key] = [readable.get('clientCert'), readable.get('clientKey')];
  if (chain !== undefined && key !== undefined && !isKeyOf(chain, key))
    findings.violation(`${path}.clientKey.${INLINE}`, 'is not the key of clientCert');
};

const serverName = () => {
  const what = must('a DNS name');
  return z.string(what).refine((value) => isDnsName(value.toLowerCase()) && isIP(value) === 0, what);
};

const verification = withRules(
  z.object({
    mode: choice('Secured', 'SkipSAN', 'SkipCA', 'SkipAll')
      .describe('What is checked: all, not the names in the certificate, or with SkipCA and SkipAll nothing.')
      .default('Secured'),
    serverName: serverName()
      .describe('DNS name that the server is asked for (SNI) and that its certificate must have. The address if not set.')
      .optional(),
    subjectAltNames: z
      .array(
        z.object({
          type: choice('Exact', 'Prefix').describe('Whether the whole name must be equal, or its beginning.').default('Exact'),
          value: text().describe('A DNS name or an IP address, or its beginning.'),
        }),
      )
      .describe('Names of which the certificate of the server must have one, beside serverName.')
      .optional(),
    caCert: dataSource
      .describe('Authorities that may have signed the certificate of the server. Those of the machine of the egress if not set.')
      .optional(),
    clientCert: dataSource.describe('Certificate chain that is shown to the server. Needs clientKey.').optional(),
    clientKey: dataSource.describe('Private key of clientCert.').optional(),
  }),
  (value, path, findings) => {
    for (const [key, other] of [
      ['clientCert', 'clientKey'],
      ['clientKey', 'clientCert'],
    ] as const) {
      if (value[key] === undefined && value[other] !== undefined)
        findings.violation(child(path, key), `must be given beside ${other}`);
    }
  },
  readableInline,
);

const tls = z.object({
  enabled: flag().describe('Whether the egress speaks TLS to the endpoints.').default(false),
  allowRenegotiation: flag().describe('Whether the server may renegotiate, as only TLS up to 1.2 knows it.').default(false),
  version: tlsVersion().describe('TLS versions that proxies speak.').optional(),
  verification: verification.describe('How the server is checked, and what it is shown.').optional(),
});

export const meshExternalServiceSpec = withRules(
  z.object({
    match: z
      .object({
        type: choice('HostnameGenerator')
          .describe('Clients know it by hostnames of a HostnameGenerator.')
          .default('HostnameGenerator'),
        port: port().describe('The port that clients call.'),
        protocol: choice('tcp', 'http', 'http2', 'grpc').describe('What the endpoints speak, inside of TLS.').default('tcp'),
      })
      .describe('How clients in the mesh call the service.'),
    endpoints: z
      .array(
        z.object({
          address: address().describe('IP address or DNS name of a server.'),
          port: port().describe('The port on which the server listens.'),
          priority: integer(0, 128).describe('Higher numbers are used when all lower ones fail. 0 if not set.').optional(),
        }),
      )
      .describe('The servers outside of the mesh that answer.')
      .optional(),
    tls: tls.describe('TLS between the egress and the endpoints. Plain text if not set.').optional(),
    extension: extension(),
  }),
  (spec, path, findings) => {
    if (spec['extension'] === undefined && items(spec['endpoints']).length === 0)
      findings.warning(child(path, 'endpoints'), 'none given: nothing will answer');
  },
);

/** Whether a violation counts: an extension is responsible for endpoints and TLS. */
export function countsInExternalService(field: string, spec: JsonObject): boolean {
  return spec['extension'] === undefined || !/^spec\.(endpoints|tls)(?=$|[.[])/.test(field);
}

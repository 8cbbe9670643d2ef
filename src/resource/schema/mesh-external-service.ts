// MeshExternalService (policies 2.8): a service outside of the mesh, with the TLS that proxies speak to it.
import { isIP } from 'node:net';
import { z } from 'zod';
import type { JsonObject } from '../types.ts';
import { dataSourceOfType, dataSourceShape, dataSourceType } from './data-source.ts';
import { items } from './json-access.ts';
import { address, choice, flag, integer, isDnsName, json, must, port, text } from './spec-fields.ts';
import { withRules, type Rule } from './spec-rules.ts';
import { child } from './spec-path.ts';
import { tlsVersion } from './tls-version.ts';

const FORMS = ['type', 'secret', 'inline', 'inlineString'];

const oneForm: Rule = (value, path, findings) => {
  const given = FORMS.filter((key) => value[key] !== undefined);
  if (given.length !== 1) findings.violation(path, `must have exactly one of ${FORMS.join(', ')}`);
};

/** Where a certificate or key is: `type` with its object, or one of the three older forms. */
const dataSource = withRules(
  z.object({
    type: dataSourceType('Secret', 'InsecureInline').optional(),
    ...dataSourceShape(),
    secret: text('the name of a Secret').describe('Older form: name of a Secret.').optional(),
    inline: text('base64').describe('Older form: the value in base64.').optional(),
    inlineString: text().describe('Older form: the value itself.').optional(),
  }),
  dataSourceOfType,
  oneForm,
);

const serverName = () => {
  const what = must('a DNS name');
  return z.string(what).refine((value) => isDnsName(value.toLowerCase()) && isIP(value) === 0, what);
};

const verification = withRules(
  z.object({
    mode: choice('Secured', 'SkipSAN', 'SkipCA', 'SkipAll').default('Secured'),
    serverName: serverName().describe('Name in the SNI.').optional(),
    subjectAltNames: z.array(z.object({ type: choice('Exact', 'Prefix').default('Exact'), value: text() })).optional(),
    caCert: dataSource.optional(),
    clientCert: dataSource.optional(),
    clientKey: dataSource.optional(),
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
);

const tls = z.object({
  enabled: flag().default(false),
  allowRenegotiation: flag().default(false),
  version: tlsVersion().describe('TLS versions that proxies speak.').optional(),
  verification: verification.optional(),
});

export const meshExternalServiceSpec = withRules(
  z.object({
    match: z.object({
      type: choice('HostnameGenerator').default('HostnameGenerator'),
      port: port(),
      protocol: choice('tcp', 'http', 'http2', 'grpc').default('tcp'),
    }),
    endpoints: z
      .array(
        z.object({
          address: address(),
          port: port(),
          priority: integer(0, 128).optional(),
        }),
      )
      .optional(),
    tls: tls.optional(),
    extension: z.object({ type: text(), config: json().optional() }).optional(),
  }),
  (spec, path, findings) => {
    if (spec['extension'] === undefined && items(spec['endpoints']).length === 0)
      findings.warning(child(path, 'endpoints'), 'none given: nothing will answer');
  },
);

export type MeshExternalServiceSpec = z.infer<typeof meshExternalServiceSpec>;

/** Whether a violation counts: an extension makes endpoints and TLS its own business. */
export function countsInExternalService(field: string, spec: JsonObject): boolean {
  return spec['extension'] === undefined || !/^spec\.(endpoints|tls)(?=$|[.[])/.test(field);
}

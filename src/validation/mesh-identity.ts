// MeshIdentity: the SPIFFE ID that the proxies of a mesh get, and the issuer of their certificates.
import { z } from 'zod';
import { besideCertificatesProblem } from '../base/pem.ts';
import { isTemplate } from '../resource/templates/go-template.ts';
import type { JsonObject } from '../resource/types.ts';
import { dataSourceOfType, dataSourceShape, dataSourceType, INLINE_KEY } from '../schema/data-source.ts';
import type { Findings } from '../schema/findings.ts';
import { at, textAt } from '../resource/json-access.ts';
import { labelSelector } from '../schema/label-selector.ts';
import { choice, duration, flag, json, must, text } from '../schema/spec-fields.ts';
import { needsObjectOfType, withRules } from '../schema/spec-rules.ts';
import { child } from '../resource/spec-path.ts';

const template = () => {
  const what = must('text with actions of the form {{ .Mesh }} or {{ label "key" }}');
  return z.string(what).refine((given) => isTemplate(given), what);
};

const dataSource = () =>
  withRules(
    z.object({ type: dataSourceType('File', 'Secret', 'EnvVar', 'InsecureInline'), ...dataSourceShape() }),
    dataSourceOfType,
  );

const bundled = withRules(
  z.object({
    autogenerate: z
      .object({ enabled: flag().describe('Switches the generation on.').optional() })
      .describe('The control plane makes the CA itself.')
      .optional(),
    ca: z
      .object({
        certificate: dataSource().describe('Certificate that signs those of the proxies, in PEM form.'),
        privateKey: dataSource().describe('Its private key, in PEM form.'),
      })
      .describe('A CA that exists already.')
      .optional(),
    certificateParameters: z
      .object({ expiry: duration().describe('How long a certificate is valid. 24h if not set.').optional() })
      .describe('What is said in the certificates that are issued.')
      .optional(),
    insecureAllowSelfSigned: flag().describe('Whether a CA that signed itself is taken.').optional(),
    meshTrustCreation: choice('Enabled', 'Disabled')
      .describe('Whether a MeshTrust is made of the CA, by which other proxies trust it. Enabled if not set.')
      .optional(),
  }),
  checkAuthority,
);

const provider = withRules(
  z.object({
    type: choice('Bundled', 'Spire', 'Extension').describe('Who issues the certificates.'),
    bundled: bundled.describe('The control plane issues the certificates.').optional(),
    spire: z
      .object({
        agent: z
          .object({ timeout: duration().describe('Longest wait for the agent.').optional() })
          .describe('The SPIRE agent beside each proxy.')
          .optional(),
      })
      .describe('SPIRE issues the certificates. Not in zones of Meridian.')
      .optional(),
    extension: z
      .object({
        name: text('the name of an extension').describe('The extension that is asked.'),
        config: json().describe('Any JSON that the extension reads.').optional(),
      })
      .describe('An extension issues the certificates. Not in zones of Meridian.')
      .optional(),
  }),
  needsObjectOfType({ Bundled: 'bundled', Spire: 'spire', Extension: 'extension' }),
);

export const meshIdentitySpec = z.object({
  selector: z
    .object({ dataplane: labelSelector.describe('Labels of the Dataplanes.').optional() })
    .describe('The proxies that get the identity. Without it none does.')
    .optional(),
  spiffeID: z
    .object({
      trustDomain: template().describe('Trust domain, as a template. {{ .Mesh }}.{{ .Zone }}.mesh.local if not set.').optional(),
      path: template().describe('Path below the trust domain, as a template. /workload/{{ .Workload }} if not set.').optional(),
    })
    .describe('The SPIFFE ID that a proxy gets.')
    .optional(),
  provider: provider.describe('Issuer of the certificates.').optional(),
});

/** A bundled provider either makes its CA or has one. */
function checkAuthority(value: JsonObject, path: string, findings: Findings): void {
  const isGenerated = at(value, 'autogenerate.enabled') === true;
  if (isGenerated && value['ca'] !== undefined)
    findings.violation(child(path, 'ca'), 'must not be set while autogenerate is enabled');
  if (!isGenerated && value['ca'] === undefined)
    findings.violation(child(path, 'ca'), 'must be given unless autogenerate is enabled');
  const inline = 'insecureInline.value';
  const beside = besideCertificatesProblem(textAt(value, `ca.certificate.${inline}`));
  if (beside !== null) findings.violation(`${path}.ca.certificate.${inline}`, beside);
  if (textAt(value, `ca.privateKey.${inline}`) !== '') findings.warning(`${path}.ca.privateKey.${inline}`, INLINE_KEY);
}

// HostnameGenerator (policies 2.9, 9.5): hostnames for services, from a template in the syntax of Go's text/template.
import { z } from 'zod';
import { MAX_TEMPLATE, replaceActions } from '../resource/templates/go-template.ts';
import { labelSelector } from '../schema/label-selector.ts';
import { isDnsName } from '../resource/dns-name.ts';
import { extension, must } from '../schema/spec-fields.ts';
import { withRules } from '../schema/spec-rules.ts';

const KINDS = ['meshService', 'meshExternalService', 'meshMultiZoneService'];
const KNOWN_ACTION = /^(\.(Name|DisplayName|Namespace|Mesh|Zone)|label\s+("[^"]+"|`[^`]+`))$/;

const templateSentence = must(
  'a template of an RFC 1123 name with {{ .Name }}, {{ .DisplayName }}, {{ .Namespace }}, {{ .Mesh }}, {{ .Zone }} or {{ label "key" }}',
);

const selector = withRules(
  z.object({
    meshService: labelSelector.describe('Selects MeshServices.').optional(),
    meshExternalService: labelSelector.describe('Selects MeshExternalServices.').optional(),
    meshMultiZoneService: labelSelector.describe('Selects MeshMultiZoneServices.').optional(),
  }),
  (value, path, findings) => {
    if (KINDS.filter((kind) => value[kind] !== undefined).length !== 1)
      findings.violation(path, `must have exactly one of ${KINDS.join(', ')}`);
  },
);

export const hostnameGeneratorSpec = z.object({
  selector: selector.describe('The services that get a hostname: one kind of them, by labels.'),
  template: z
    .string(templateSentence)
    .refine(rendersToName, templateSentence)
    .describe('The hostname of a service, such as {{ .DisplayName }}.{{ .Zone }}.mesh.local; label "key" is a label of it.'),
  extension: extension(),
});

/** Whether the template gives a DNS name when every action gives a label. */
function rendersToName(template: string): boolean {
  if (template.length > MAX_TEMPLATE) return false;
  let isKnown = true;
  const name = replaceActions(template, (action) => {
    isKnown &&= KNOWN_ACTION.test(action);
    return 'x';
  });
  return isKnown && isDnsName(name);
}

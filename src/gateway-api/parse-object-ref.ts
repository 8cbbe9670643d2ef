// The four fields by which Gateway API names an object: group, kind, name, namespace, with the defaults of GEP-718.
import type { Field } from './field.ts';
import type { ObjectRef } from './gateway-route.ts';
import { textForms } from './text-forms.ts';

/** The keys of a reference; the caller handles the other keys. */
export const REF_KEYS = ['group', 'kind', 'name', 'namespace'] as const;

/**
 * Reads a reference to a backend or a parent.
 * `kind` is Service where it is left out (GEP-718 «Proposal»), `service` means the same, and group `core` is `''` (D25).
 * @returns undefined when name, kind, group or namespace were refused
 */
export function parseObjectRef(field: Field, routeNamespace: string | undefined, defaultKind = 'Service'): ObjectRef | undefined {
  const name = field.at('name').requiredText(textForms.name);
  const kind = field.at('kind').isGiven ? field.at('kind').requiredText(textForms.kind) : defaultKind;
  const group = field.at('group').isGiven ? field.at('group').text(textForms.group) : '';
  const namespace = field.at('namespace').isGiven
    ? field.at('namespace').requiredText(textForms.namespace)
    : (routeNamespace ?? null);
  if (name === undefined || kind === undefined || group === undefined || namespace === undefined) return undefined;
  const isCore = group === '' || group === 'core';
  return {
    group: isCore ? '' : group,
    kind: isCore && kind === 'service' ? 'Service' : kind,
    name,
    namespace: namespace ?? undefined,
  };
}

// Documents in YAML for tests, and the findings of their check as lines of text.
import { parse, parseAllDocuments } from 'yaml';
import { label } from '../resource/labels.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import { checkSpec } from './check-spec.ts';

export type Found = { readonly violations: readonly string[]; readonly warnings: readonly string[] };
export const NOTHING_FOUND: Found = { violations: [], warnings: [] };

/** The findings of the check of a spec, each violation as `field: reason`. */
export function find(type: string, spec: JsonObject, options: { labels?: Labels; strict?: boolean } = {}): Found {
  const resource = { labels: options.labels ?? {}, mesh: 'default', name: 'tested', spec };
  const { violations, warnings } = checkSpec(typeOf(type), resource, { strict: options.strict ?? true });
  return { violations: violations.map(({ field, reason }) => `${field}: ${reason}`), warnings };
}

/** The findings of a spec in YAML. */
export function findIn(type: string, yaml: string, options: { labels?: Labels; strict?: boolean } = {}): Found {
  return find(type, parse(yaml) as JsonObject, options);
}

/** The fields of the violations alone. */
export function fieldsIn(type: string, yaml: string, options: { labels?: Labels } = {}): string[] {
  return findIn(type, yaml, options).violations.map((violation) => violation.slice(0, violation.indexOf(': ')));
}

/** Labels of a policy in a namespace. */
export function inNamespace(namespace: string): Labels {
  return { [label.namespace]: namespace };
}

/** Checks every document of a YAML text, in Universal or Kubernetes form. */
export function findInDocuments(yaml: string): Found[] {
  return parseAllDocuments(yaml).map((document) => {
    const given = document.toJS() as { type?: string; kind?: string; metadata?: { namespace?: string }; spec: JsonObject };
    const namespace = given.metadata?.namespace;
    return find(given.type ?? given.kind ?? '', given.spec, { labels: namespace === undefined ? {} : inNamespace(namespace) });
  });
}

// A Gateway API document → the normalised model, or everything that is wrong with it (GEP-718, D24, D25).
// Pure. Invariant: it never throws; it reports all violations together, up to a limit, each with its path and the correct form.
import { collectViolations, type Refuse, type Violation } from '../base/violations.ts';
import { label } from '../resource/labels.ts';
import { Field } from './field.ts';
import { GATEWAY_GROUP, type GatewayRoute, type ParentRef } from './gateway-route.ts';
import { parseParents } from './parse-references.ts';
import { parseHttpRules, parseTcpRules } from './parse-rules.ts';
import { textForms } from './text-forms.ts';

const VERSIONS = ['v1', 'v1beta1', 'v1alpha2', 'v1alpha1'];
const KINDS = ['HTTPRoute', 'TCPRoute'] as const;

/** Keys of the metadata of every object (Kubernetes «ObjectMeta»). Most of them do not affect traffic. */
export const METADATA_KEYS: readonly string[] = [
  ...['name', 'namespace', 'labels', 'annotations', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'generateName'],
  ...['deletionTimestamp', 'deletionGracePeriodSeconds', 'finalizers', 'managedFields', 'ownerReferences', 'selfLink'],
];
const SPEC_ELSEWHERE = {
  hostnames:
    'is not supported in a mesh, where a request is matched by the service it goes to: leave it out and name that service in parentRefs',
  gateways: 'is not supported in a mesh: write parentRefs: [{group: "", kind: Service, name: …}]',
  useDefaultGateways: 'is not supported in a mesh: write parentRefs: [{group: "", kind: Service, name: …}]',
  tls: 'is not supported in a mesh, which encrypts all traffic: leave it out',
};

type ParsedRoute = { readonly route: GatewayRoute } | { readonly violations: readonly Violation[] };

/** Whether a document is for `parseRoute`: its apiVersion is of Gateway API's group, with any kind and version. */
export function isGatewayDocument(document: unknown): boolean {
  const apiVersion: unknown =
    typeof document === 'object' && document !== null && 'apiVersion' in document && document.apiVersion;
  return typeof apiVersion === 'string' && apiVersion.startsWith(`${GATEWAY_GROUP}/`);
}

/**
 * Reads an HTTPRoute or a TCPRoute, in both spellings of a backend.
 * @param options.mesh the mesh of a document without label `kuma.io/mesh`
 */
export function parseRoute(document: unknown, options: { readonly mesh?: string } = {}): ParsedRoute {
  let route: GatewayRoute | undefined;
  const violations = collectViolations((refuse) => {
    route = readRoute(document, options, (field, reason) => refuse(field || 'document', reason));
  });
  return route === undefined || violations.length > 0 ? { violations } : { route };
}

/**
 * Reads a stored route as `parseRoute` does. Its violations come from a check that is newer, or it was written past the API. Only
 * the rules with violations are left out. The route is refused when no rule is valid, and when a violation is outside of the
 * rules.
 */
export function parseStoredRoute(document: unknown, options: { readonly mesh?: string } = {}): ParsedRoute {
  const violations: Violation[] = [];
  const route = readRoute(document, options, (field, reason) => violations.push({ field: field || 'document', reason }));
  const byRule = Map.groupBy(violations, ({ field }) => ruleIndexOf(field));
  const rules = route?.rules.map((rule, index) => ({ ...rule, violations: byRule.get(index) ?? [] })) ?? [];
  if (route === undefined || byRule.has(null) || rules.every((rule) => rule.violations.length > 0)) return { violations };
  return { route: { ...route, rules } };
}

/** `spec.rules[3].name` → 3; null for a field outside of the rules. */
function ruleIndexOf(field: string): number | null {
  const [, index] = /^spec\.rules\[(\d+)\]/.exec(field) ?? [];
  return index === undefined ? null : Number(index);
}

/** Returns undefined if the document is not a route. Faults are reported as violations. */
function readRoute(document: unknown, options: { readonly mesh?: string }, refuse: Refuse): GatewayRoute | undefined {
  const root = new Field(document, '', refuse);
  if (!root.isGiven) root.refuse('must be an object with apiVersion, kind, metadata and spec');
  if (!root.isObject()) return undefined;
  root.allowKeys(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  checkVersion(root.at('apiVersion'));
  const kind = parseKind(root.at('kind'));
  const metadata = parseMetadata(root.at('metadata'), options.mesh ?? 'default');
  const spec = root.at('spec');
  if (!spec.isGiven) spec.refuse('must be given');
  if (kind === undefined || !spec.isGiven || !spec.isObject()) return undefined;
  spec.allowKeys(['parentRefs', 'rules'], SPEC_ELSEWHERE);
  const parents = parseParents(spec, metadata.namespace);
  const rules = kind === 'HTTPRoute' ? parseHttpRules(spec, metadata.namespace) : parseTcpRules(spec, metadata.namespace);
  return { kind, ...metadata, parents, rules };
}

/** The readable parents of a document, even if it has other faults: their status can report those. */
export function readableParents(document: unknown): readonly ParentRef[] {
  const root = new Field(document, '', () => undefined);
  const spec = root.at('spec');
  return spec.isObject() ? parseParents(spec, parseMetadata(root.at('metadata'), 'default').namespace) : [];
}

function checkVersion(field: Field): void {
  const allowed = VERSIONS.map((version) => `${GATEWAY_GROUP}/${version}`);
  if (!field.isGiven) field.refuse(`must be given: one of ${allowed.join(', ')}`);
  else field.choice(allowed);
}

/** A mesh has no TLSRoute, UDPRoute (D25) or other kind. */
function parseKind(field: Field): GatewayRoute['kind'] | undefined {
  if (!field.isGiven) return field.refuse(`must be given: ${KINDS.join(' or ')}`);
  const kind = KINDS.find((known) => field.shown === JSON.stringify(known));
  return kind ?? field.refuse(`${field.shown} is not supported in a mesh: write ${KINDS.join(' or ')}`);
}

type Metadata = Pick<GatewayRoute, 'mesh' | 'name' | 'namespace' | 'labels'>;

/** metadata.namespace becomes label `k8s.kuma.io/namespace` later on, label `kuma.io/mesh` the mesh (D2, D5). */
function parseMetadata(field: Field, defaultMesh: string): Metadata {
  if (!field.isGiven) field.refuse('must be given, with a name');
  if (!field.isObject()) return { mesh: defaultMesh, name: '', namespace: undefined, labels: {} };
  field.allowKeys(METADATA_KEYS);
  const given = field.at('labels');
  const labels: [string, string][] = [];
  if (given.isObject())
    for (const key of given.keys()) {
      const value = given.at(key).text();
      if (value !== undefined) labels.push([key, value]);
    }
  const { [label.mesh]: mesh = defaultMesh, [label.namespace]: labelled, ...others } = Object.fromEntries(labels);
  const name = field.at('name').requiredText(textForms.name) ?? '';
  const namespace = field.at('namespace').text(textForms.namespace);
  if (labelled !== undefined && namespace !== undefined && labelled !== namespace)
    given.at(label.namespace).refuse(`must be ${namespace}, as metadata.namespace has it: leave the label out`);
  return { mesh, name, namespace: namespace ?? labelled, labels: others };
}

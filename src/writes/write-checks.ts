// Every check of a write that needs no stored row, in Kuma's order (rest-api 2.4.2, 2.4.4, 2.5): body, spec, name, mesh, labels.
// Pure.
// Invariant: a draft is valid, and the store writes it unless a stored row forbids it (write-plan.ts).
import { boundViolations, collectViolations, type Refuse, type Violation } from '../base/violations.ts';
import { readUniversal, unknownKeysBesideSpec, type UniversalParts } from '../document/universal-form.ts';
import { withAnnotatedProtocol } from '../gateway-api/app-protocol.ts';
import { checkRoute, GATEWAY_TYPES } from '../gateway-api/stored-document.ts';
import { normalizeSpec } from '../resource/codec.ts';
import { computeLabels, type ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { hashName, MAX_VISIBLE_BYTES } from '../resource/hash-name.ts';
import { label, LABEL_KEY, LABEL_VALUE, REACHABLE, isReachLabel } from '../resource/labels.ts';
import { ownerLabelFaults } from '../resource/ownership.ts';
import { olderKeyWarnings } from '../resource/older-keys.ts';
import { unknownKeys } from '../validation/unknown-keys.ts';
import { policyRole } from '../resource/policy-role.ts';
import { isObject } from '../resource/read-json.ts';
import { checkSpec as checkBySchema, type CheckedResource, type SpecCheck } from '../validation/check-spec.ts';
import { completeSpec } from '../validation/complete-spec.ts';
import { isListOfGlobal } from '../resource/revoked-ids.ts';
import { isClusterWide, namesOf, RFC_1035_LABEL, RFC_1035_REASON } from '../resource/stored-name.ts';
import { writtenSecretViolations } from '../resource/secret-data.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject, Labels, ResourceKey } from '../resource/types.ts';
import { dataplaneViolations, writtenDataplaneViolations } from '../resource/validate-dataplane.ts';
import { peerDataplaneViolations } from '../validation/validate-written-dataplane.ts';
import { zoneViolations } from '../resource/zone-profile.ts';
import type { RowWrite, Write } from '../store/resource-store.ts';
import { ApiError } from '../http/error-body.ts';

export const INVALID = 'Could not process a resource';
const RFC_1123_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
export const MESH_NAME = /^[0-9a-z._-]{1,253}$/;
export const MESH_NAME_REASON = 'must be at most 253 of lower-case letters, digits, "-", "_" and "."';
const MAX_NAME = 253;
/**
 * The reason why a zone with a global does not write a list of revoked tokens: that of global would not come in any more, or
 * replace it.
 */
const LIST_OF_GLOBAL = 'this zone has the list of revoked tokens from its global: revoke the token there';
/** The character limit of a label key in a field: a prefix, a slash and a name. */
const MAX_KEY = 317;

/** `checksOrigin` is off with `multizone.zone.disableOriginLabelValidation`. */
export type WriteRules = { readonly writer: ControlPlaneIdentity; readonly checksOrigin: boolean };

export type ContentWrite = Extract<Write, { op: 'create' | 'update' }>;

export type Draft = {
  readonly info: TypeInfo;
  readonly key: ResourceKey;
  /** The labels as given. */
  readonly given: Labels;
  /** The labels with the computed ones. */
  readonly labels: Labels;
  /** The spec with the defaults of its schema. */
  readonly spec: JsonObject;
  /** The row whose deletion deletes this row. */
  readonly owner: ResourceKey | null;
  readonly warnings: readonly string[];
  /** The violations of the name. The title of the error says whether a create or an update fails. */
  readonly nameFaults: readonly Violation[];
};

/**
 * @param at the key in the URL
 * @param strict refuses unknown spec keys (D7)
 * @throws ApiError 400 that names each invalid field
 */
export function draftOf(
  info: TypeInfo,
  at: { readonly mesh: string; readonly name: string },
  document: unknown,
  rules: WriteRules,
  { strict }: { readonly strict: boolean },
): Draft {
  if (!isObject(document)) throw new ApiError('bad_request', 'Bad Request', 'the body must be a JSON object');
  const body = readUniversal(info, document);
  if ('violations' in body) throw refusal(body.violations);
  const { labels: given } = body;
  const { mesh } = at;
  if (info.name === 'Dataplane') refuseAll(writtenDataplaneViolations(body.spec));
  if (info.name === 'Secret' || info.name === 'GlobalSecret') refuseAll(writtenSecretViolations(body.spec));
  if (info.name === 'Zone') refuseAll(zoneViolations(body.spec));
  const normalized = normalizeSpec(info, body.spec);
  const namespace = isClusterWide(info) ? '' : (given[label.namespace] ?? '');
  const { storedName, displayName } = namesOf(at.name, namespace);
  const check = checkSpec(info, { labels: given, mesh, name: displayName, spec: normalized }, strict);
  refuseAll(uniqueFields(check.violations));
  const known = check.spec ?? normalized;
  const spec = completeSpec(info.name, info.name === 'MeshService' ? withAnnotatedProtocol(given, known) : known);
  const key: ResourceKey = { type: info.name, mesh, name: storedName };
  refuseAll([
    ...mismatches(info, key, at.name, body),
    ...collectViolations((refuse) => checkLabels(info, { mesh, labels: given, spec }, rules, refuse)),
    ...nameViolations(info, key, displayName, rules),
    ...(at.name.includes('.') && at.name !== storedName ? [ambiguous(key, displayName, namespace)] : []),
    ...(info.scope === 'Mesh' && body.mesh !== mesh ? meshViolations(body.mesh) : []),
  ]);
  const labels = computeLabels(info, { displayName, mesh, labels: given, spec }, rules.writer);
  const nameFaults = info.labelName && !RFC_1035_LABEL.test(displayName) ? [{ field: 'name', reason: RFC_1035_REASON }] : [];
  const warnings = [...check.warnings, ...droppedKeys(info, document, body.spec, strict), ...narrowed(info, given, labels)];
  return { info, key, given, labels, spec, owner: ownerOf(info, mesh), warnings, nameFaults };
}

/**
 * The warnings of the keys that are not stored, beside a spec and in a protobuf message; the schema of a JSON type has those of
 * its spec itself.
 * @throws ApiError 400 that names them, if the caller wants no key to be dropped
 */
function droppedKeys(info: TypeInfo, document: JsonObject, spec: JsonObject, strict: boolean): string[] {
  const isMessage = info.codec.kind === 'proto';
  const unknown = isMessage ? unknownKeys(info, spec) : unknownKeysBesideSpec(info, document);
  if (strict) refuseAll(unknown);
  const dropped = boundViolations(unknown).map(({ field, reason }) => `${field}: ${reason}; it has no effect`);
  return isMessage ? [...dropped, ...olderKeyWarnings(info, spec)] : dropped;
}

/**
 * The write of a draft without a read of the stored row: it creates the row, or replaces a row that this control plane owns. If
 * it writes nothing, `planWrite` decides with the stored row whether that is an error. It is null if the row must be read first.
 */
export function unreadWrite({ info, key, labels, spec, owner, nameFaults }: Draft): RowWrite | null {
  // A new Mesh is created with its defaults. A type without an owner needs a check that the mesh exists.
  if (nameFaults.length > 0 || info.name === 'Mesh' || (info.scope === 'Mesh' && owner === null)) return null;
  // The row must be read to keep the computed part of its spec.
  if (hasComputed(info)) return { op: 'create', key, labels, spec, status: {}, owner };
  return { op: 'put', key, labels, spec, owner, ownOnly: true };
}

/** Whether the control plane computes a part of the spec of a type. */
export function hasComputed(info: TypeInfo): boolean {
  return info.name === 'MeshService';
}

/** Throws the violations. @throws ApiError with the violations, if there are any */
export function refuseAll(violations: readonly Violation[], title = INVALID): void {
  if (violations.length > 0) throw refusal(violations, title);
}

function refusal(violations: readonly Violation[], title = INVALID): ApiError {
  const listed = boundViolations(violations);
  return new ApiError('invalid', title, listed.map(({ field, reason }) => `${field}: ${reason}`).join('; '), listed);
}

/** A Gateway API route is checked as strictly on PUT as on apply: no field may be dropped (D24). */
function checkSpec(info: TypeInfo, resource: CheckedResource, strict: boolean): SpecCheck {
  if (GATEWAY_TYPES.has(info.name)) return { violations: checkRoute({ type: info.name, ...resource }), warnings: [] };
  if (info.name !== 'Dataplane') return checkBySchema(info, resource, { strict });
  const violations = collectViolations((refuse) => {
    for (const { field, reason } of dataplaneViolations(resource.spec)) refuse(field, reason);
  });
  return { violations: [...violations, ...peerDataplaneViolations(resource.spec)], warnings: [] };
}

/** A policy with a namespace is for the proxies there. A Kuma control plane on Universal gives it no role and applies it to the mesh. */
function narrowed(info: TypeInfo, given: Labels, labels: Labels): string[] {
  const role = labels[label.policyRole] ?? 'system';
  if (info.policy === null || given[label.policyRole] !== undefined || !NARROW_ROLES.has(role)) return [];
  const namespace = given[label.namespace] ?? '';
  return [
    `${labelField(label.namespace)}: the policy is for proxies of namespace ${namespace} alone (${label.policyRole}: ${role}), in Kuma zones too; leave the label out for the whole mesh`,
  ];
}

/** Roles whose policies apply in their namespace alone (policies 1.7). */
const NARROW_ROLES = new Set(['consumer', 'workload-owner']);

/** The violations where type, name or mesh of the body differ from those of the URL. */
function mismatches(info: TypeInfo, key: ResourceKey, urlName: string, body: UniversalParts): Violation[] {
  const violations: Violation[] = [];
  if (body.name !== urlName && body.name !== key.name)
    violations.push({ field: 'name', reason: `must be ${urlName}, as in the URL` });
  if (body.type !== info.name) violations.push({ field: 'type', reason: `must be ${info.name}, as in the URL` });
  if (info.scope === 'Mesh' && body.mesh !== key.mesh)
    violations.push({ field: 'mesh', reason: `must be ${key.mesh}, as in the URL` });
  return violations;
}

/** Checks the labels that a caller may set (rest-api 2.5, D6). */
function checkLabels(
  info: TypeInfo,
  { mesh, labels, spec }: Pick<CheckedResource, 'mesh' | 'labels' | 'spec'>,
  rules: WriteRules,
  refuseField: Refuse,
): void {
  const refuse = (key: string, reason: string): void => refuseField(labelField(key), reason);
  for (const [key, value] of Object.entries(labels)) {
    if (!LABEL_KEY.test(key)) refuse(key, KEY_REASON);
    // The display name may have every character of a resource name.
    if (key !== label.displayName && !LABEL_VALUE.test(value)) refuse(key, VALUE_REASON);
    if (info.name === 'Mesh' && isReachLabel(key) && !REACHABLE.some((known) => known === value))
      refuse(key, `must be ${REACHABLE.join(' or ')}`);
  }
  for (const [key, reason] of ownerLabelFaults(info, labels, rules)) refuse(key, reason);
  const meshLabel = labels[label.mesh];
  if (rules.writer.mode === 'zone' && info.scope === 'Mesh' && meshLabel !== undefined && meshLabel !== mesh)
    refuse(label.mesh, `must be ${mesh}, the mesh of the resource`);
  const role = labels[label.policyRole];
  if (role === undefined || info.policy === null || role === 'system') return;
  const computed = policyRole({ spec, labels });
  // Without a computed role the items mix roles: `checkSpec` has refused them.
  if (computed !== null && role !== computed) refuse(label.policyRole, `must be ${computed}`);
}

const KEY_REASON = 'must be a qualified name: an optional DNS prefix and "/", then at most 63 letters, digits, "-", "_", "."';
const VALUE_REASON =
  'must be a label value: at most 63 letters, digits, "-", "_", ".", starting and ending with a letter or digit';

/** The field of a label in a list of violations. */
export function labelField(key: string): string {
  return `labels[${JSON.stringify(key.length > MAX_KEY ? `${key.slice(0, MAX_KEY)}…` : key)}]`;
}

/** Refuses a name with a dot that may be a stored name of another namespace. */
function ambiguous({ name }: ResourceKey, displayName: string, namespace: string): Violation {
  const meant = `the stored name of ${JSON.stringify(displayName)} in namespace ${JSON.stringify(namespace)}`;
  return { field: 'name', reason: `must be ${JSON.stringify(name)}, ${meant} (label ${label.namespace}), as it contains a dot` };
}

function nameViolations(info: TypeInfo, { mesh, name }: ResourceKey, displayName: string, { writer }: WriteRules): Violation[] {
  const reason = nameFault(info, { mesh, name }, displayName, writer);
  return [...(reason === null ? [] : [{ field: 'name', reason }]), ...(mesh === '' ? [] : meshViolations(mesh))];
}

function nameFault(
  info: TypeInfo,
  { mesh, name }: Pick<ResourceKey, 'mesh' | 'name'>,
  displayName: string,
  { federated, zone }: ControlPlaneIdentity,
): string | null {
  if (name.length > MAX_NAME) return 'must have at most 253 characters';
  if (!RFC_1123_SUBDOMAIN.test(name))
    return 'must be an RFC 1123 subdomain: lower-case letters, digits, "-" and ".", starting and ending with a letter or digit';
  if (federated && isListOfGlobal(info, { mesh, name })) return LIST_OF_GLOBAL;
  if (federated && `${zone ?? ''}.${name}`.length >= MAX_NAME)
    return 'must have less than 253 characters together with the name of the zone and a dot';
  if (info.kds.skipHash || displayName.length <= MAX_VISIBLE_BYTES) return null;
  if (RFC_1123_SUBDOMAIN.test(hashName({ mesh, name: displayName }))) return null;
  return `must not have a dot as character ${String(MAX_VISIBLE_BYTES)}: copies in other control planes have a name that is cut after it, which is no valid name`;
}

function meshViolations(mesh: unknown): Violation[] {
  if (mesh === undefined || mesh === '') return [{ field: 'mesh', reason: 'must be given' }];
  return typeof mesh === 'string' && MESH_NAME.test(mesh) ? [] : [{ field: 'mesh', reason: MESH_NAME_REASON }];
}

/** Two checks may find the same violation. Only the first of each field is reported. */
function uniqueFields(violations: readonly Violation[]): Violation[] {
  const first = new Map<string, Violation>();
  for (const violation of violations) if (!first.has(violation.field)) first.set(violation.field, violation);
  return [...first.values()];
}

/** The owner of a row: a Mesh owns its rows, except Dataplane and Secret (kds-wire 7). */
function ownerOf(info: TypeInfo, mesh: string): ResourceKey | null {
  if (info.scope === 'Global' || info.name === 'Dataplane' || info.name === 'Secret') return null;
  return { type: 'Mesh', mesh: '', name: mesh };
}

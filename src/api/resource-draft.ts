// What a caller wants written, checked as far as it can be without the stored row (rest-api 2.4.2, 2.4.4).
// Invariant: a draft is valid; everything that can be wrong with the text itself is thrown with its fields.
import { boundViolations, type Violation } from '../base/violations.ts';
import { normalizeSpec } from '../resource/codec.ts';
import { withAnnotatedProtocol } from '../gateway-api/app-protocol.ts';
import { hashName, MAX_VISIBLE_BYTES } from '../resource/hash-name.ts';
import { label } from '../resource/labels.ts';
import { completeSpec } from '../resource/schema/complete-spec.ts';
import { isObject } from '../resource/read-json.ts';
import { isClusterWide, namesOf } from '../resource/stored-name.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject, Labels, ResourceKey } from '../resource/types.ts';

import { writtenDataplaneViolations } from '../resource/validate-dataplane.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { peerDataplaneViolations } from '../resource/validate-written-dataplane.ts';
import { ApiError } from './error-body.ts';
import { refusedLabels, type LabelRules } from './label-rules.ts';
import { readUniversal } from '../document/universal-form.ts';

export const INVALID = 'Could not process a resource';
const RFC_1123_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
export const MESH_NAME = /^[0-9a-z._-]{1,253}$/;
export const MESH_NAME_REASON = 'must be at most 253 of lower-case letters, digits, «-», «_» and «.»';
const MAX_NAME = 253;

/** The result of the schemas for a spec. `spec`, where given, is the stored form without unknown keys (D7). */
export type SpecCheck = {
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
  readonly spec?: JsonObject | undefined;
};

/** Checks a spec as a person writes it; `strict` refuses unknown keys, else they are warned of. */
export type CheckSpec = (
  info: TypeInfo,
  resource: { readonly labels: Labels; readonly mesh: string; readonly name: string; readonly spec: JsonObject },
  options: { readonly strict: boolean },
) => SpecCheck;

export type DraftRules = LabelRules & { readonly checkSpec: CheckSpec | undefined };

export type Draft = {
  readonly info: TypeInfo;
  readonly key: ResourceKey;
  readonly displayName: string;
  /** As given; those of the control plane are computed later. */
  readonly labels: Labels;
  /** With the defaults of its schema. */
  readonly spec: JsonObject;
  readonly warnings: readonly string[];
};

/**
 * @param at the key in the URL
 * @param strict unknown spec keys are refused (D7)
 * @throws ApiError 400 that names each field at fault
 */
export function draftOf(
  info: TypeInfo,
  at: { readonly mesh: string; readonly name: string },
  given: unknown,
  rules: DraftRules,
  { strict }: { readonly strict: boolean },
): Draft {
  if (!isObject(given)) throw new ApiError('bad_request', 'Bad Request', 'the body must be a JSON object');
  const body = readUniversal(info, given);
  if ('violations' in body) throw refusal(body.violations);
  const { labels } = body;
  const { mesh } = at;
  if (info.name === 'Dataplane') refuseAll(writtenDataplaneViolations(body.spec));
  const normalized = normalizeSpec(info, body.spec);
  const namespace = isClusterWide(info) ? '' : (labels[label.namespace] ?? '');
  const { storedName, displayName } = namesOf(at.name, namespace);
  const check = rules.checkSpec?.(info, { labels, mesh, name: displayName, spec: normalized }, { strict });
  const frame = validateResource(info, { name: displayName, mesh, labels: {}, spec: normalized });
  const ofPeers = info.name === 'Dataplane' ? peerDataplaneViolations(normalized) : [];
  refuseAll(uniqueFields([...(check?.violations ?? []), ...frame.filter(({ field }) => field !== 'name'), ...ofPeers]));
  const spec = completeSpec(info.name, withAnnotatedProtocol(info.name, labels, check?.spec ?? normalized));
  const key: ResourceKey = { type: info.name, mesh, name: storedName };
  refuseAll([
    ...mismatches(info, key, at.name, body),
    ...refusedLabels(info, { mesh, labels, spec }, rules),
    ...nameViolations(info, key, displayName, rules),
    ...(at.name.includes('.') && at.name !== storedName ? [ambiguous(key, displayName, namespace)] : []),
    ...(info.scope === 'Mesh' && body.mesh !== mesh ? meshViolations(body.mesh) : []),
  ]);
  return { info, key, displayName, labels, spec, warnings: check?.warnings ?? [] };
}

/** @throws ApiError with the violations, if there are any */
export function refuseAll(violations: readonly Violation[], title = INVALID): void {
  if (violations.length > 0) throw refusal(violations, title);
}

function refusal(violations: readonly Violation[], title = INVALID): ApiError {
  const listed = boundViolations(violations);
  return new ApiError('invalid', title, listed.map(({ field, reason }) => `${field}: ${reason}`).join('; '), listed);
}

/** Type, name and mesh of the body equal those of the URL. */
function mismatches(
  info: TypeInfo,
  key: ResourceKey,
  urlName: string,
  body: { type: unknown; name: unknown; mesh: unknown },
): Violation[] {
  const violations: Violation[] = [];
  if (body.name !== urlName && body.name !== key.name)
    violations.push({ field: 'name', reason: `must be ${urlName}, as in the URL` });
  if (body.type !== info.name) violations.push({ field: 'type', reason: `must be ${info.name}, as in the URL` });
  if (info.scope === 'Mesh' && body.mesh !== key.mesh)
    violations.push({ field: 'mesh', reason: `must be ${key.mesh}, as in the URL` });
  return violations;
}

/** A name with a dot may be the stored name of another namespace: it is not guessed which is meant. */
function ambiguous({ name }: ResourceKey, displayName: string, namespace: string): Violation {
  const meant = `the stored name of ${JSON.stringify(displayName)} in namespace ${JSON.stringify(namespace)}`;
  return { field: 'name', reason: `must be ${JSON.stringify(name)}, ${meant} (label ${label.namespace}), as it contains a dot` };
}

function nameViolations(info: TypeInfo, { mesh, name }: ResourceKey, displayName: string, { writer }: LabelRules): Violation[] {
  const violations: Violation[] = [];
  if (name.length > MAX_NAME) violations.push({ field: 'name', reason: 'must have at most 253 characters' });
  else if (!RFC_1123_SUBDOMAIN.test(name)) violations.push({ field: 'name', reason: NAME_REASON });
  else if (writer.federated && `${writer.zone ?? ''}.${name}`.length >= MAX_NAME)
    violations.push({ field: 'name', reason: 'must have less than 253 characters together with the name of the zone and a dot' });
  else if (
    !info.kds.skipHash &&
    displayName.length > MAX_VISIBLE_BYTES &&
    !RFC_1123_SUBDOMAIN.test(hashName({ mesh, name: displayName }))
  )
    violations.push({ field: 'name', reason: CUT_REASON });
  if (mesh !== '') violations.push(...meshViolations(mesh));
  return violations;
}

function meshViolations(mesh: unknown): Violation[] {
  if (mesh === undefined || mesh === '') return [{ field: 'mesh', reason: 'must be given' }];
  return typeof mesh === 'string' && MESH_NAME.test(mesh) ? [] : [{ field: 'mesh', reason: MESH_NAME_REASON }];
}

const NAME_REASON =
  'must be an RFC 1123 subdomain: lower-case letters, digits, «-» and «.», starting and ending with a letter or digit';

const CUT_REASON = `must not have a dot as character ${String(MAX_VISIBLE_BYTES)}: copies in other control planes have a name that is cut after it, which is no valid name`;

/** Two checks may find the same fault; the first that speaks of a field is heard. */
function uniqueFields(violations: readonly Violation[]): Violation[] {
  const first = new Map<string, Violation>();
  for (const violation of violations) if (!first.has(violation.field)) first.set(violation.field, violation);
  return [...first.values()];
}

// The losses of the zones of a Kuma global when a Meridian global takes over its resources, by resource and field, each with a
// remedy. The command `takeover check`, the start of a global and an import ask this file alone. Pure.
import { compareText } from '../base/compare-text.ts';
import { reasonsWithheld } from '../validation/kuma-form.ts';
import { displayNameOf } from '../resource/labels.ts';
import { olderKeysIn } from '../resource/older-keys.ts';
import { originOf } from '../resource/ownership.ts';
import { find, path } from '../resource/spec-places.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { isObject } from '../resource/read-json.ts';
import { unknownKeys } from '../validation/unknown-keys.ts';
import { isComputed, successorOf } from './older-types.ts';
import type { KumaRelease, TakenRow } from './taken-row.ts';

/** Something that a zone has from Kuma and does not get from Meridian. */
export type Loss = {
  /** The name by which a person accepts it: `Mesh.mtls`, or the type alone where the whole type is lost. */
  readonly kind: string;
  readonly type: string;
  readonly mesh: string;
  /** The display name. */
  readonly name: string;
  /** The field as violations print it; empty for the whole resource. */
  readonly field: string;
  readonly reason: string;
  readonly remedy: string;
};

type Finding = Pick<Loss, 'kind' | 'field' | 'reason' | 'remedy'>;

const CERTIFICATES = ['caCert', 'clientCert', 'clientKey'].map((key) => path(`tls.verification.${key}`));
const READ_OVER = 'zones get the resource without it';
const REWRITE = 'write it in a form that Kuma 3 reads: docs/kuma-migration.md, What Kuma zones are sent';

/**
 * The losses of a takeover, in order of type, mesh, name and field.
 * @param rows of the global; rows that its zones wrote lose nothing, because the zones send them again
 * @param release of the Kuma global: a Kuma 3 has already read over the keys of 2.x
 */
export function lossesOf(rows: Iterable<TakenRow>, release: KumaRelease): Loss[] {
  const losses: Loss[] = [];
  for (const row of rows)
    for (const finding of findingsOf(row, release))
      losses.push({ ...finding, type: row.type, mesh: row.mesh, name: displayNameOf(row) });
  return losses.sort(
    (a, b) =>
      compareText(a.type, b.type) || compareText(a.mesh, b.mesh) || compareText(a.name, b.name) || compareText(a.field, b.field),
  );
}

/** The losses that no name in `accepted` covers. @param accepted kinds of losses, or types */
export function unaccepted(losses: readonly Loss[], accepted: readonly string[]): Loss[] {
  return losses.filter(({ kind, type }) => !accepted.includes(kind) && !accepted.includes(type));
}

function findingsOf({ type, labels, spec }: TakenRow, release: KumaRelease): Finding[] {
  const info = findType(type);
  if (info === undefined) return ofUnknownType(type, release);
  if (release !== 2 || !(info.kds.globalToZone || info.kds.acrossZones) || originOf(labels) === 'zone') return [];
  const found = [...ofTranslation(info, spec), ...ofKeys(info, spec), ...ofCertificates(info, spec)];
  // A field of which the resource is withheld is not also read over.
  return found.filter(({ field }, index) => found.findIndex((other) => other.field === field) === index);
}

/** A Kuma 3 serves none of the older types. A type of neither release is one that Meridian does not know. */
function ofUnknownType(type: string, release: KumaRelease): Finding[] {
  const remedy = successorOf(type);
  if (isComputed(type) || (release !== 2 && remedy !== undefined)) return [];
  const reason = 'Meridian has no such type: zones remove their copies';
  return [{ kind: type, field: '', reason, remedy: remedy ?? 'write what it does as another resource' }];
}

function ofKeys(info: TypeInfo, spec: JsonObject): Finding[] {
  const older = olderKeysIn(info, spec).map(({ field, key, advice }): Finding => ({
    kind: `${info.name}.${key}`,
    field,
    reason: READ_OVER,
    remedy: advice,
  }));
  const unknown = unknownKeys(info, spec).map(({ field }): Finding => ({
    kind: `${info.name}.${kindOfField(field)}`,
    field,
    reason: READ_OVER,
    remedy: 'remove the key',
  }));
  return [...older, ...unknown];
}

/** A resource that has no form for Kuma zones is not sent at all. */
function ofTranslation(info: TypeInfo, spec: JsonObject): Finding[] {
  return reasonsWithheld(info, spec).map(({ field, reason, instead }): Finding => ({
    kind: `${info.name}.${kindOfField(field)}`,
    field,
    reason: `zones do not get the resource: ${reason}`,
    remedy: instead === undefined ? REWRITE : `write ${instead}`,
  }));
}

/** Meridian sends the form of Kuma 3, and a zone of 2.x reads it as no certificate. */
function ofCertificates(info: TypeInfo, spec: JsonObject): Finding[] {
  if (info.name !== 'MeshExternalService') return [];
  return CERTIFICATES.flatMap((at) => find(spec, at))
    .filter(({ value }) => isObject(value) && value['type'] === undefined)
    .map(({ name }): Finding => ({
      kind: `${info.name}.${kindOfField(name)}`,
      field: name,
      reason: 'zones of Kuma 2.x do not read a certificate with a type, which Meridian sends',
      remedy: 'let every zone be of Kuma 3, or Meridian, before the takeover',
    }));
}

/** `spec.to[0].targetRef.kind` → `to.*.targetRef.kind`. */
function kindOfField(field: string): string {
  return field.replace(/^spec\./, '').replaceAll(/\[\d+\]/g, '.*');
}

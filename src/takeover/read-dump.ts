// The rows of a dump: YAML or JSON documents as `kumactl export` and `kubectl get -o yaml` print them. It is more lenient than `apply`:
// types and keys that Meridian does not have are what the check looks for.
import { MeridianError } from '../base/errors.ts';
import { parseYaml } from '../base/parse-yaml.ts';
import { label } from '../resource/labels.ts';
import { isObject, objectOf, textMapOf, textOf } from '../resource/read-json.ts';
import { findType } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import type { TakenRow } from './taken-row.ts';

const KUMA_GROUP = 'kuma.io/';
const SECRETS: Readonly<Record<string, string>> = {
  'system.kuma.io/secret': 'Secret',
  'system.kuma.io/global-secret': 'GlobalSecret',
};
/** Keys of a document beside the spec of a type that has it at the top. */
const BESIDE = new Set(['type', 'mesh', 'name', 'labels', 'creationTime', 'modificationTime', 'kri', 'snis', 'status', 'spec']);
const DEFAULT_MESH = 'default';

/**
 * The rows of a text. Objects of Kubernetes that are no resources of Kuma are left out.
 * @param name of the file, for errors
 * @throws MeridianError `invalid` for a text that is no YAML, and for a document without a type
 */
export function readDump(name: string, text: string): TakenRow[] {
  return readObjects(name, text).flatMap((object) => {
    if (typeof object['type'] === 'string' && object['kind'] === undefined) return [ofUniversal(object['type'], object)];
    const row = rowOfKubernetes(object);
    return row === null ? [] : [row];
  });
}

/**
 * The objects of a text, those of a List one by one.
 * @param name of the file, for errors
 * @throws MeridianError `invalid` for a text that is no YAML, and for an object with neither type nor kind
 */
export function readObjects(name: string, text: string): JsonObject[] {
  return parseYaml(text).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new MeridianError('invalid', `${name}: ${error.message}`);
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return itemsOf(value).map((item) => objectIn(name, item));
  });
}

/** The row of an object of Kubernetes; null for an object that is no resource of Kuma. */
export function rowOfKubernetes(object: JsonObject): TakenRow | null {
  const { apiVersion, kind, type } = object;
  if (textOf(apiVersion).startsWith(KUMA_GROUP)) return ofKubernetes(textOf(kind), object);
  const secret = kind === 'Secret' ? SECRETS[textOf(type)] : undefined;
  if (secret === undefined) return null;
  const value = objectOf(object['data'])['value'];
  return ofKubernetes(secret, { ...object, spec: { data: textOf(value) } });
}

function itemsOf(value: unknown): unknown[] {
  if (value === null || value === undefined) return [];
  const items = objectOf(value)['items'];
  return Array.isArray(items) ? items : [value];
}

function objectIn(file: string, value: unknown): JsonObject {
  if (!isObject(value)) throw new MeridianError('invalid', `${file}: a document must be an object with type, or with kind`);
  if (typeof value['type'] === 'string' || typeof value['kind'] === 'string') return value;
  throw new MeridianError('invalid', `${file}: a document must have type, or apiVersion and kind`);
}

function ofUniversal(type: string, document: JsonObject): TakenRow {
  const { mesh, name, labels, spec } = document;
  const flat = Object.fromEntries(Object.entries(document).filter(([key]) => !BESIDE.has(key)));
  return { type, mesh: textOf(mesh), name: textOf(name), labels: textMapOf(labels), spec: isObject(spec) ? spec : flat };
}

function ofKubernetes(type: string, { metadata, mesh, spec }: JsonObject): TakenRow {
  const { name, labels, annotations } = objectOf(metadata);
  const displayName = objectOf(annotations)[label.displayName];
  const given = textMapOf(labels);
  const hasMesh = findType(type)?.scope !== 'Global';
  return {
    type,
    mesh: hasMesh ? (given[label.mesh] ?? (textOf(mesh) || DEFAULT_MESH)) : '',
    name: textOf(name),
    // Kubernetes keeps a long display name in an annotation.
    labels: { ...(typeof displayName === 'string' && { [label.displayName]: displayName }), ...given },
    spec: objectOf(spec),
  };
}

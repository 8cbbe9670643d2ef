// The rows of a dump: YAML or JSON documents as `kumactl export` and `kubectl get -o yaml` print them. It is more lenient than `apply`:
// types and keys that Meridian does not have are what the check looks for.
import { parseAllDocuments } from 'yaml';
import { MeridianError } from '../base/errors.ts';
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
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new MeridianError('invalid', `${name}: ${error.message}`);
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return itemsOf(value).flatMap((item) => rowOf(name, item));
  });
}

function itemsOf(value: unknown): unknown[] {
  if (value === null || value === undefined) return [];
  const items = objectOf(value)['items'];
  return Array.isArray(items) ? items : [value];
}

function rowOf(file: string, value: unknown): TakenRow[] {
  if (!isObject(value)) throw new MeridianError('invalid', `${file}: a document must be an object with type, or with kind`);
  if (typeof value['type'] === 'string' && value['kind'] === undefined) return [ofUniversal(value['type'], value)];
  const { apiVersion, kind, type } = value;
  if (typeof kind !== 'string') throw new MeridianError('invalid', `${file}: a document must have type, or apiVersion and kind`);
  if (textOf(apiVersion).startsWith(KUMA_GROUP)) return [ofKubernetes(kind, value)];
  const secret = kind === 'Secret' ? SECRETS[textOf(type)] : undefined;
  return secret === undefined ? [] : [ofKubernetes(secret, { ...value, spec: {} })];
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

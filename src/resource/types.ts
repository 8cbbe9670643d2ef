// The vocabulary of the domain: resources and their keys. No transport, no storage.
import { compareText } from '../base/compare-text.ts';

/** A JSON value as it stands in a spec, a status or a REST body. */
export type Json = string | number | boolean | null | Json[] | JsonObject;
/** JSON of any shape. No value has the symbol: with it the compiler does not take JSON for an object whose fields may all be missing. */
export type JsonObject = { [key: string]: Json; [unread]?: true };

declare const unread: unique symbol;

/** Flat string map; the keys are Kubernetes qualified names (kds-wire 5.1). */
export type Labels = Readonly<Record<string, string>>;

/** Primary key of a stored resource. `mesh` is `''` for Global-scoped types (kds-wire 7). */
export type ResourceKey = { readonly type: string; readonly mesh: string; readonly name: string };

/** A stored resource: one row of the `resources` table. */
export type Resource = ResourceKey & {
  readonly labels: Labels;
  /** The spec alone, as proto3 JSON or plugin JSON. */
  readonly spec: JsonObject;
  /** It is `{}` for types without a status. */
  readonly status: JsonObject;
  /** The optimistic lock. It starts at 0, and each write raises it by one. */
  readonly version: number;
  readonly creationTime: Date;
  readonly modificationTime: Date;
  /** The row whose deletion deletes this row too, or null. */
  readonly owner: ResourceKey | null;
  /** The version on the wire of a row that came by KDS; null for a row that was written here (D29). */
  readonly syncVersion: string | null;
};

/** Names one content of a row with its key. */
export type RowVersion = Pick<Resource, 'version' | 'creationTime'>;

/** The side of a control plane; also a value of label `kuma.io/origin`. */
export type Mode = 'global' | 'zone';

/** The key of a row, without its other fields. */
export function keyOf({ type, mesh, name }: ResourceKey): ResourceKey {
  return { type, mesh, name };
}

/** A key as one text, for maps. `describeKey` writes a key for people. */
export function keyText({ type, mesh, name }: ResourceKey): string {
  return JSON.stringify([type, mesh, name]);
}

/** The mesh and name of a row as one text, for maps of one type. A resource and its insight have the same text. */
export function nameText({ mesh, name }: Pick<ResourceKey, 'mesh' | 'name'>): string {
  return JSON.stringify([mesh, name]);
}

/** The key of a row of a type, from its `nameText`. */
export function keyOfNameText(type: string, text: string): ResourceKey {
  const [mesh, name] = JSON.parse(text) as [string, string];
  return { type, mesh, name };
}

/** Orders keys as Kuma lists them: by name, then mesh, then type. */
export function compareKeys(a: ResourceKey, b: ResourceKey): number {
  return compareText(a.name, b.name) || compareText(a.mesh, b.mesh) || compareText(a.type, b.type);
}

/** `type "MeshTimeout" name "slow" mesh "default"`, for messages to people. */
export function describeKey(key: ResourceKey): string {
  return `type=${JSON.stringify(key.type)} name=${JSON.stringify(key.name)} mesh=${JSON.stringify(key.mesh)}`;
}

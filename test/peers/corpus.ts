// The corpus: documents of every synced type, in Universal form, each accepted by the peer. `least` has only required fields.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { label } from '../../src/resource/labels.ts';
import { typeOf, type TypeInfo } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';

/** Mesh of all documents of the corpus that are in one. */
export const MESH = 'peers';

export type Document = { readonly info: TypeInfo; readonly name: string; readonly body: JsonObject };

const FOLDER = join(import.meta.dirname, 'corpus');

/** All documents, mesh-scoped ones in `MESH`. */
export function readCorpus(): Document[] {
  return readdirSync(FOLDER).flatMap((file) =>
    parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((document) => {
      const body = document.toJS() as JsonObject & { type: string; name: string };
      const info = typeOf(body.type);
      return { info, name: body.name, body: info.scope === 'Mesh' ? { ...body, mesh: MESH } : body };
    }),
  );
}

/**
 * The document for a zone with a global: with the origin of the zone. A type that is synced under its own name, and also written on
 * global, gets a different name.
 */
export function inZone({ info, name, body }: Document, zone: string): Document {
  const ownName = info.kds.skipHash ? `${name}-${zone}` : name;
  const labels = { ...((body['labels'] ?? {}) as JsonObject), [label.origin]: 'zone' };
  return { info, name: ownName, body: { ...body, name: ownName, labels } };
}

/** REST path of a document. */
export function pathOf({ info, name }: Pick<Document, 'info' | 'name'>): string {
  return `${info.scope === 'Mesh' ? `/meshes/${MESH}` : ''}/${info.path}/${name}`;
}

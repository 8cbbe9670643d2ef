// Reads the documents of `apply`, `diff` and `delete -f`: YAML or JSON from files, folders, URLs or standard input. Each document
// knows the positions of its fields. Invariant: documents are returned only if all of them are valid.
import { LineCounter } from 'yaml';
import { MeridianError, messageOf } from '../../base/errors.ts';
import { parseYaml } from '../../base/parse-yaml.ts';
import { nearestKey } from '../../resource/nearest-key.ts';
import { findType } from '../../resource/type-registry.ts';
import { applyRank } from './apply-order.ts';
import { readSources, shownName, type SourceText } from './sources.ts';
import { readDocument, type ReadDocument } from '../../document/read-document.ts';
import { writtenField } from '../../document/written-field.ts';
import { readableTypes } from '../client/find.ts';
import { problemText } from '../views/problem-text.ts';
import { SourceFile } from '../../document/position.ts';
import { TOO_DEEP, unfitPart } from '../../document/unfit-part.ts';
import { isObject, objectOf, textOf } from '../../resource/read-json.ts';
import type { JsonObject } from '../../resource/types.ts';
import { isForeign } from '../../document/kubernetes-form.ts';
import { successorOf } from '../../takeover/older-types.ts';
import { note } from '../output.ts';

export type ResourceDocument = ReadDocument & {
  /** The position as `file:line`. */
  readonly place: string;
  /** The position of a field as `file:line:column`, by its path in violations: `spec.to[0].targetRef`. */
  readonly placeOf: (field: string) => string;
};

/** @property strict refuses foreign objects of Kubernetes; otherwise they are left out with a line each */
type ReadOptions = { readonly strict?: boolean };

/**
 * All documents of the given sources, Meshes first.
 * @throws MeridianError `invalid` that names every invalid document by file, line and column
 */
export async function readDocuments(
  sources: readonly string[],
  defaultMesh: string,
  { strict = false }: ReadOptions = {},
): Promise<ResourceDocument[]> {
  const documents = parseDocuments(await readSources(sources), defaultMesh, { strict });
  if (documents.length === 0) throw new MeridianError('invalid', `no resource found in ${sources.map(shownName).join(', ')}`);
  return documents;
}

/** @throws as `readDocuments` */
export function parseDocuments(
  files: readonly SourceText[],
  defaultMesh: string,
  { strict = true }: ReadOptions = {},
): ResourceDocument[] {
  const documents: ResourceDocument[] = [];
  const problems: string[] = [];
  const foreign: string[] = [];
  for (const file of files) parseFile(file.text, file.name, defaultMesh, { documents, problems, foreign });
  if (strict) problems.push(...foreign);
  else for (const line of foreign) note(`${line}; it is left out`);
  if (problems.length > 0)
    throw new MeridianError('invalid', `nothing was done:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  return documents.toSorted((a, b) => applyRank(a.info) - applyRank(b.info));
}

/** @property foreign a line for each object that is no resource of a mesh */
type Parsed = { readonly documents: ResourceDocument[]; readonly problems: string[]; readonly foreign: string[] };

function parseFile(content: string, name: string, defaultMesh: string, { documents, problems, foreign }: Parsed): void {
  const lines = new LineCounter();
  const file = new SourceFile(name, content);
  const shown = shownName(name);
  for (const [index, document] of parseYaml(content, lines).entries()) {
    const start = document.contents?.range?.[0] ?? document.range[0];
    const place = `${shown}:${String(lines.linePos(start).line)}`;
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lines.linePos(error.pos[0]);
      const fault = error.code === 'RESOURCE_EXHAUSTION' ? TOO_DEEP : error.message;
      problems.push(`${shown}:${String(line)}:${String(col)}: ${fault}`);
      continue;
    }
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch (cause) {
      problems.push(`${place}: ${firstLine(messageOf(cause))}`);
      continue;
    }
    if (value === null || value === undefined) continue;
    const unfit = unfitPart(value);
    if (unfit !== null) {
      const { line, column } = file.positionOf(index, unfit.field);
      problems.push(problemText(`${shown}:${String(line)}:${String(column)}`, unfit.field, unfit.reason).trimStart());
      continue;
    }
    for (const { item, path } of itemsOf(value)) {
      const placeOf = (field: string): string => {
        const parts = [path, writtenField(item, field)].filter((part) => part !== '');
        const { line, column } = file.positionOf(index, parts.join('.'));
        return `${shown}:${String(line)}:${String(column)}`;
      };
      const itemPlace = path === '' ? place : placeOf('').replace(/:\d+$/, '');
      if (isObject(item) && isForeign(item)) {
        foreign.push(`${itemPlace}: ${foreignName(item)} is no resource of a mesh`);
        continue;
      }
      const read = readDocument(item, defaultMesh);
      if ('info' in read) documents.push({ place: itemPlace, placeOf, ...read });
      else {
        const { field, reason } = read.violation;
        problems.push([placeOf(field), ...(field === '' ? [] : [field]), reason + hintFor(field, item)].join(': '));
      }
    }
  }
}

/** A list, as `get -o yaml` and kubectl print it, counts as its items. */
function itemsOf(value: unknown): { item: unknown; path: string }[] {
  const isList = isObject(value) && Array.isArray(value['items']) && !('type' in value) && !('name' in value);
  if (!isList) return [{ item: value, path: '' }];
  return (value['items'] as unknown[]).map((item, index) => ({ item, path: `items[${String(index)}]` }));
}

/** `ConfigMap settings`. */
function foreignName({ kind, metadata }: JsonObject): string {
  return [textOf(kind), textOf(objectOf(metadata)['name'])].filter((part) => part !== '').join(' ');
}

/** A remedy for a violation of a document. */
function hintFor(field: string, value: unknown): string {
  const { kind, type = kind, name } = objectOf(value);
  if (field === 'name') return typeof name === 'number' || typeof name === 'boolean' ? '; quote it' : '';
  if (field !== 'type' || typeof type !== 'string' || findType(type) !== undefined) return '';
  const names = readableTypes().map((info) => info.name);
  const successor = successorOf(type);
  if (successor !== undefined) return `; it is one of Kuma 2.x: ${successor}`;
  const near = nearestKey(type, names);
  return near === null ? '; `meridian get --help` lists them' : `; did you mean ${near}?`;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

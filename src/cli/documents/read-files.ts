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
import { isObject, objectOf } from '../../resource/read-json.ts';

export type ResourceDocument = ReadDocument & {
  /** The position as `file:line`. */
  readonly place: string;
  /** The position of a field as `file:line:column`, by its path in violations: `spec.to[0].targetRef`. */
  readonly placeOf: (field: string) => string;
};

/**
 * All documents of the given sources, Meshes first.
 * @throws MeridianError `invalid` that names every invalid document by file, line and column
 */
export async function readDocuments(sources: readonly string[], defaultMesh: string): Promise<ResourceDocument[]> {
  const documents = parseDocuments(await readSources(sources), defaultMesh);
  if (documents.length === 0) throw new MeridianError('invalid', `no resource found in ${sources.map(shownName).join(', ')}`);
  return documents;
}

/** @throws as `readDocuments` */
export function parseDocuments(files: readonly SourceText[], defaultMesh: string): ResourceDocument[] {
  const documents: ResourceDocument[] = [];
  const problems: string[] = [];
  for (const file of files) parseFile(file.text, file.name, defaultMesh, documents, problems);
  if (problems.length > 0)
    throw new MeridianError('invalid', `nothing was done:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  return documents.toSorted((a, b) => applyRank(a.info) - applyRank(b.info));
}

function parseFile(content: string, name: string, defaultMesh: string, documents: ResourceDocument[], problems: string[]): void {
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

/** A remedy for a violation of a document. */
function hintFor(field: string, value: unknown): string {
  const { kind, type = kind, name } = objectOf(value);
  if (field === 'name') return typeof name === 'number' || typeof name === 'boolean' ? '; quote it' : '';
  if (field !== 'type' || typeof type !== 'string' || findType(type) !== undefined) return '';
  const names = readableTypes().map((info) => info.name);
  const near = nearestKey(type, names);
  return near === null ? '; `meridian get --help` lists them' : `; did you mean ${near}?`;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

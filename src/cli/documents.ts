// What `apply`, `diff` and `delete -f` read: YAML or JSON documents from files, folders, URLs or standard input. Each knows where
// its fields stand. Invariant: documents are handed out only if all of them can be read.
import { LineCounter, parseAllDocuments } from 'yaml';
import { MeridianError, messageOf } from '../base/errors.ts';
import { label } from '../resource/labels.ts';
import { nearestKey } from '../resource/schema/nearest-key.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { readSources, shownName, type SourceText } from './documents/sources.ts';
import { fromKubernetes } from '../document/kubernetes-form.ts';
import { readableTypes } from './client/find.ts';
import { problemText } from './views/problem-text.ts';
import { pathSteps, SourceFile } from './documents/position.ts';
import { TOO_DEEP, unfitPart } from './documents/unfit-part.ts';
import { isObject } from '../resource/read-json.ts';

export type ResourceDocument = {
  /** `file:line`. */
  readonly place: string;
  /** `file:line:column` of a field, named as violations name it: `spec.to[0].targetRef`. */
  readonly placeOf: (field: string) => string;
  readonly info: TypeInfo;
  readonly mesh: string;
  readonly name: string;
  /** Universal form, as the REST API takes it. */
  readonly body: JsonObject;
};

/**
 * All documents of the given sources, Meshes first.
 * @throws MeridianError `invalid` that names every document at fault by file, line and column
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
  return documents.toSorted((a, b) => rank(a) - rank(b));
}

function parseFile(content: string, name: string, defaultMesh: string, documents: ResourceDocument[], problems: string[]): void {
  const lines = new LineCounter();
  const file = new SourceFile(name, content);
  const shown = shownName(name);
  for (const [index, document] of parseAllDocuments(content, {
    lineCounter: lines,
    uniqueKeys: true,
    prettyErrors: false,
  }).entries()) {
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
        const inItem = isObject(item) ? fieldIn(item, field) : field;
        const { line, column } = file.positionOf(index, [path, inItem].filter((part) => part !== '').join('.'));
        return `${shown}:${String(line)}:${String(column)}`;
      };
      const itemPlace = path === '' ? place : placeOf('').replace(/:\d+$/, '');
      const read = toResource(item, { place: itemPlace, placeOf }, defaultMesh);
      if ('problem' in read) problems.push(`${placeOf(read.field)}: ${read.problem}`);
      else documents.push(read);
    }
  }
}

/** A list, as `get -o yaml` and kubectl print it, counts as its items. */
function itemsOf(value: unknown): { item: unknown; path: string }[] {
  const isList = isObject(value) && Array.isArray(value['items']) && !('type' in value) && !('name' in value);
  if (!isList) return [{ item: value, path: '' }];
  return (value['items'] as unknown[]).map((item, index) => ({ item, path: `items[${String(index)}]` }));
}

/** The resource of a document, or its errors with their places. */
function toResource(
  value: unknown,
  where: Pick<ResourceDocument, 'place' | 'placeOf'>,
  defaultMesh: string,
): ResourceDocument | { field: string; problem: string } {
  const fault = (field: string, reason: string): { field: string; problem: string } => ({
    field,
    problem: `${field}: ${reason}`,
  });
  if (!isObject(value)) return { field: '', problem: 'must be a resource: an object with type and name' };
  const read = 'apiVersion' in value && 'kind' in value ? fromKubernetes(value) : { body: value };
  if ('violation' in read) return fault(read.violation.field, read.violation.reason);
  const given = read.body;
  const { type, name } = given;
  if (typeof type !== 'string') return fault('type', 'must be given');
  const info = findType(type);
  if (info === undefined || info.path === '')
    return fault('type', `${JSON.stringify(type)} is no resource type; ${typeHint(type)}`);
  if (typeof name === 'number' || typeof name === 'boolean') return fault('name', 'must be a text; quote it');
  if (typeof name !== 'string' || name === '') return fault('name', 'must be given');
  const mesh = info.scope === 'Global' ? '' : (given['mesh'] ?? defaultMesh);
  if (typeof mesh !== 'string') return fault('mesh', 'must be a text');
  return { ...where, info, mesh, name, body: { ...given, ...(info.scope === 'Mesh' && { mesh }) } };
}

function typeHint(type: string): string {
  const near = nearestKey(
    type,
    readableTypes().map(({ name }) => name),
  );
  return near === null ? '`meridian get --help` lists them' : `did you mean ${near}?`;
}

/** Where a field of the REST body stands in the document as it was written. */
function fieldIn(document: JsonObject, field: string): string {
  if ('apiVersion' in document) {
    if (field === 'type') return 'kind';
    if (field === 'mesh') return `metadata.labels[${JSON.stringify(label.mesh)}]`;
    if (/^(name|labels)\b/.test(field)) return `metadata.${field}`;
  }
  // Protobuf types are flat on the wire; in a document they may stand under `spec` (D18).
  const [first = ''] = pathSteps(field);
  const { spec } = document;
  return !(first in document) && isObject(spec) && first in spec ? `spec.${field}` : field;
}

/** Meshes before what lives in them. */
function rank({ info }: ResourceDocument): number {
  return info.name === 'Mesh' ? 0 : info.scope === 'Global' ? 1 : 2;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

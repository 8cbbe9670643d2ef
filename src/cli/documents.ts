// What `apply` reads: YAML or JSON documents from files, folders, URLs or standard input, each with the place it stands at.
import { readFile, readdir, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { LineCounter, parseAllDocuments } from 'yaml';
import { MeridianError, messageOf } from '../base/errors.ts';
import { label } from '../resource/labels.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';

export type ResourceDocument = {
  /** `file:line`. */
  readonly place: string;
  readonly info: TypeInfo;
  readonly mesh: string;
  readonly name: string;
  /** Universal form, as the REST API takes it. */
  readonly body: JsonObject;
};

const ENDINGS = new Set(['.yaml', '.yml', '.json']);

/**
 * All documents of the given sources, Meshes first.
 * @throws MeridianError `invalid` that names every document at fault by file and line; then nothing should be applied
 */
export async function readDocuments(sources: readonly string[], defaultMesh: string): Promise<ResourceDocument[]> {
  const documents: ResourceDocument[] = [];
  const problems: string[] = [];
  for (const source of sources)
    for (const file of await filesOf(source)) parseFile(await contentOf(file), file, defaultMesh, documents, problems);
  if (problems.length > 0)
    throw new MeridianError('invalid', `nothing was applied:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  if (documents.length === 0) throw new MeridianError('invalid', `no resource found in ${sources.join(', ')}`);
  return documents.toSorted((a, b) => rank(a) - rank(b));
}

function parseFile(content: string, file: string, defaultMesh: string, documents: ResourceDocument[], problems: string[]): void {
  const lines = new LineCounter();
  for (const document of parseAllDocuments(content, { lineCounter: lines, uniqueKeys: true })) {
    const start = document.contents?.range?.[0] ?? document.range[0];
    const place = `${file}:${String(lines.linePos(start).line)}`;
    const [error] = document.errors;
    if (error !== undefined) {
      problems.push(`${file}:${String(error.linePos?.[0].line ?? 1)}: ${error.message.split('\n')[0] ?? ''}`);
      continue;
    }
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (value === null || value === undefined) continue;
    const read = toResource(value, place, defaultMesh);
    if (typeof read === 'string') problems.push(`${place}: ${read}`);
    else documents.push(read);
  }
}

/** The resource of a document, or what is wrong with it. */
function toResource(value: unknown, place: string, defaultMesh: string): ResourceDocument | string {
  if (!isObject(value)) return 'must be a resource: an object with type and name';
  const given = 'apiVersion' in value && 'kind' in value ? fromKubernetes(value) : value;
  if (typeof given === 'string') return given;
  const { type, name } = given;
  if (typeof type !== 'string') return 'type: must be given';
  const info = findType(type);
  if (info === undefined || info.path === '')
    return `type: ${JSON.stringify(type)} is no resource type; \`meridian get --help\` lists them`;
  if (typeof name !== 'string' || name === '') return 'name: must be given';
  const mesh = info.scope === 'Global' ? '' : (given['mesh'] ?? defaultMesh);
  if (typeof mesh !== 'string') return 'mesh: must be a string';
  return { place, info, mesh, name, body: { ...given, ...(info.scope === 'Mesh' && { mesh }) } };
}

const GATEWAY_KINDS = ['HTTPRoute', 'TCPRoute'];

/** `kuma.io/v1alpha1` and Gateway API's group: metadata becomes name, mesh and labels (decisions D5, D24). */
function fromKubernetes({ apiVersion, kind, metadata, spec }: JsonObject): JsonObject | string {
  const isGateway = typeof apiVersion === 'string' && apiVersion.startsWith('gateway.networking.k8s.io/');
  if (!isGateway && apiVersion !== 'kuma.io/v1alpha1')
    return `apiVersion: must be kuma.io/v1alpha1 or gateway.networking.k8s.io/v1, or leave it out and give type, name and mesh`;
  if (isGateway && !GATEWAY_KINDS.includes(String(kind)))
    return `kind: ${JSON.stringify(kind)} has no home in a mesh: write ${GATEWAY_KINDS.join(' or ')}`;
  if (!isObject(metadata)) return 'metadata: must be an object';
  const labels = isObject(metadata['labels']) ? metadata['labels'] : {};
  const { [label.mesh]: mesh = 'default', ...others } = labels;
  const namespace = metadata['namespace'];
  const info = typeof kind === 'string' ? findType(kind) : undefined;
  return {
    type: kind ?? null,
    name: metadata['name'] ?? null,
    ...(info?.scope === 'Mesh' && { mesh }),
    labels: { ...others, ...(typeof namespace === 'string' && { [label.namespace]: namespace }) },
    ...(info?.codec.kind === 'proto' ? (isObject(spec) ? spec : {}) : { spec: spec ?? {} }),
  };
}

/** Meshes before what lives in them. */
function rank({ info }: ResourceDocument): number {
  return info.name === 'Mesh' ? 0 : info.scope === 'Global' ? 1 : 2;
}

async function filesOf(source: string): Promise<string[]> {
  if (source === '-' || /^https?:\/\//.test(source)) return [source];
  const found = await stat(source).catch(() => null);
  if (found === null) throw new MeridianError('invalid', `${source}: no such file or folder`);
  if (!found.isDirectory()) return [source];
  const names = await readdir(source, { recursive: true });
  return names
    .filter((name) => ENDINGS.has(extname(name)))
    .sort()
    .map((name) => join(source, name));
}

async function contentOf(source: string): Promise<string> {
  if (source === '-') return await text(process.stdin);
  try {
    if (!/^https?:\/\//.test(source)) return await readFile(source, 'utf8');
    const response = await fetch(source, { signal: AbortSignal.timeout(60_000) });
    if (!response.ok) throw new Error(`the answer has status ${String(response.status)}`);
    return await response.text();
  } catch (cause) {
    throw new MeridianError('invalid', `${source}: ${messageOf(cause)}`, { cause });
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

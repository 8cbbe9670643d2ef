// The configuration of a control plane: defaults, then a YAML file, then the environment, then flags.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { configSchema, kumaOnlyEffects, kumaOnlyKeys, kumaSpellings, type RawConfig } from './config-schema.ts';
import { MeridianError, messageOf, type Violation } from './errors.ts';

type Embedded = { readonly type: 'embedded'; readonly path: string };
type Postgres = { readonly type: 'postgres' } & RawConfig['store']['postgres'];

/** The configuration as the program uses it: one store, durations in milliseconds. */
export type Config = Omit<RawConfig, 'store'> & {
  readonly store: (Embedded | Postgres) & Pick<RawConfig['store'], 'unsafeDelete' | 'history'>;
};

type Tree = { [key: string]: unknown };

export type ConfigSources = {
  readonly file?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Dotted paths with the text that was given for them. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Values that the command sets. */
  readonly mode: 'global' | 'zone';
};

/** The `MERIDIAN_…` variables of the command line, which the configuration ignores. */
const NOT_CONFIG = new Set(['MERIDIAN_ADDRESS', 'MERIDIAN_CONFIG', 'MERIDIAN_MESH', 'MERIDIAN_TOKEN', 'MERIDIAN_ENVOY']);
/** The prefix of the variables of `meridian dataplane run`. */
const OF_DATAPLANE = 'MERIDIAN_DATAPLANE_';

/**
 * Reads and checks the whole configuration.
 * @returns warnings about keys of Kuma that Meridian does not use
 * @throws MeridianError `config` that names every unknown key and every bad value
 */
export function loadConfig({ file, env = {}, flags = {}, mode }: ConfigSources): { config: Config; warnings: string[] } {
  const tree: Tree = {};
  const violations: Violation[] = [];
  const warnings: string[] = [];
  if (file !== undefined) merge(tree, readFile(file), '', violations, warnings);
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('MERIDIAN_') || NOT_CONFIG.has(name) || value === undefined) continue;
    if (name.startsWith(OF_DATAPLANE)) continue;
    const path = pathOfEnv.get(name);
    if (path !== undefined) setText(tree, path, value);
    else
      violations.push({ field: name, reason: `no key of the configuration has this name${hint(name, [...pathOfEnv.keys()])}` });
  }
  for (const [path, value] of Object.entries(flags)) {
    if (leaves.has(path)) setText(tree, path, value);
    else violations.push({ field: path, reason: `unknown key${hint(path, [...leaves.keys()])}` });
  }
  tree['mode'] = mode;
  const read = configSchema.safeParse(tree, { error: usualReason });
  if (!read.success) for (const issue of read.error.issues) violations.push(violationOf(issue));
  else if (mode === 'zone' && read.data.multizone.zone.name === '')
    violations.push({ field: 'multizone.zone.name', reason: 'must be given: a name of lower-case letters, digits and hyphens' });
  if (violations.length > 0 || !read.success) throw invalid(violations);
  return { config: resolve(read.data), warnings };
}

/** The configuration that may be shown and sent: keys as in a file, without secrets. Always has `store.type` (kds-wire 2.7). */
export function sanitizedConfig({ store, ...rest }: Config): Tree {
  const { type, unsafeDelete, history, ...backend } = store;
  const shown = 'password' in backend ? { ...backend, password: '*****' } : backend;
  return structuredClone({ ...rest, store: { type, unsafeDelete, history, [type]: shown } });
}

function resolve(raw: RawConfig): Config {
  const { store, ...rest } = raw;
  const name = raw.mode === 'global' ? 'global' : raw.multizone.zone.name;
  const { unsafeDelete, history } = store;
  if (store.type === 'postgres') return { ...rest, store: { type: 'postgres', unsafeDelete, history, ...store.postgres } };
  const path = store.embedded.path || join(raw.general.workDir, name, 'pg');
  return { ...rest, store: { type: 'embedded', unsafeDelete, history, path } };
}

/** Copies a file's keys; an unknown one is a violation, one of Kuma's a warning. */
function merge(into: Tree, from: Tree, prefix: string, violations: Violation[], warnings: string[]): void {
  const above = prefix === '' ? '' : `${prefix}.`;
  for (const [given, value] of Object.entries(from)) {
    const path = kumaSpellings.get(above + given) ?? above + given;
    const key = path.slice(above.length);
    if (leaves.has(path)) into[key] = value;
    else if (!sections.has(path) && isKumaOnly(path)) warnings.push(kumaOnlyWarning(path));
    else if (!sections.has(path)) violations.push({ field: path, reason: `unknown key${hint(path, [...leaves.keys()])}` });
    else if (!isTree(value)) violations.push({ field: path, reason: 'must be a section with keys' });
    else {
      const below: Tree = {};
      into[key] = below;
      merge(below, value, path, violations, warnings);
    }
  }
}

function kumaOnlyWarning(path: string): string {
  const effect = kumaOnlyEffects.get(path);
  return `${path}: a key of Kuma that Meridian does not use; it is ignored${effect === undefined ? '' : `, and ${effect}`}`;
}

function readFile(file: string): Tree {
  try {
    const content: unknown = parse(readFileSync(file, 'utf8')) ?? {};
    if (isTree(content)) return content;
  } catch (cause) {
    throw new MeridianError('config', `cannot read the configuration file ${file}: ${messageOf(cause)}`, { cause });
  }
  throw new MeridianError('config', `the configuration file ${file} must hold keys and values in YAML`);
}

/** Sets a leaf from text, as the type of the leaf reads it. */
function setText(tree: Tree, path: string, value: string): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let at = tree;
  for (const key of keys) {
    const below = at[key];
    at = isTree(below) ? below : (at[key] = {} as Tree);
  }
  at[last] = fromText(leaves.get(path) ?? 'string', value);
}

function fromText(kind: LeafKind, value: string): unknown {
  if (kind === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if (kind === 'integer' && /^-?\d+$/.test(value)) return Number(value);
  if (kind === 'array') return value === '' ? [] : value.split(',').map((item) => item.trim());
  return value;
}

function invalid(violations: readonly Violation[]): MeridianError {
  const lines = violations.map(({ field, reason }) => `  ${field}: ${reason}`);
  return new MeridianError('config', `the configuration is not valid:\n${lines.join('\n')}`, { violations });
}

/** The reason for a key without its own message in the schema; undefined uses that of zod. */
function usualReason(issue: z.core.$ZodRawIssue): string | undefined {
  return issue.code === 'invalid_value' ? `must be one of ${issue.values.map(String).join(', ')}` : undefined;
}

function violationOf(issue: z.core.$ZodIssue): Violation {
  const field = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys')
    return { field: [field, ...issue.keys].filter(Boolean).join('.'), reason: 'unknown key' };
  if (issue.code === 'invalid_type')
    return { field, reason: `must be ${issue.expected === 'int' ? 'a whole number' : `a ${issue.expected}`}` };
  return { field, reason: issue.message };
}

/** ` (did you mean …?)` for the nearest of the known names, if one is near. */
function hint(given: string, known: readonly string[]): string {
  let best = '';
  let least = Math.max(3, given.length / 4);
  for (const name of known) {
    const far = distance(given.toLowerCase(), name.toLowerCase());
    if (far < least) [best, least] = [name, far];
  }
  return best === '' ? '' : ` (did you mean ${best}?)`;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

type LeafKind = 'string' | 'boolean' | 'integer' | 'array';

type JsonSchema = { readonly type?: string; readonly properties?: Record<string, JsonSchema> };

/** Every leaf of the schema by dotted path, with the type for parsing text. */
const leaves = new Map<string, LeafKind>();
const sections = new Set<string>();
collect(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as JsonSchema, '');

/** Whether a path is one of the keys, or below one: a section may hold keys that Meridian reads and keys of Kuma only. */
function isKumaOnly(path: string): boolean {
  return kumaOnlyKeys.some((key) => path === key || path.startsWith(`${key}.`));
}

/** `store.postgres.dbName` → `MERIDIAN_STORE_POSTGRES_DB_NAME`. */
const pathOfEnv = new Map([...leaves.keys()].map((path) => [envName(path), path]));

export function envName(path: string): string {
  return `MERIDIAN_${path
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('.', '_')
    .toUpperCase()}`;
}

function collect(schema: JsonSchema, path: string): void {
  for (const [key, below] of Object.entries(schema.properties ?? {})) {
    const at = path === '' ? key : `${path}.${key}`;
    if (below.properties !== undefined) {
      sections.add(at);
      collect(below, at);
    } else leaves.set(at, below.type === 'boolean' || below.type === 'integer' || below.type === 'array' ? below.type : 'string');
  }
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

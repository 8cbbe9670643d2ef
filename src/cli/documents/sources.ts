// The sources of documents: files, folders, URLs, standard input.
import { readFile, readdir, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { MeridianError, messageOf } from '../../base/errors.ts';
import { note } from '../output.ts';

export type SourceText = { readonly name: string; readonly text: string };

const ENDINGS = new Set(['.yaml', '.yml', '.json']);
/** The size from which a progress line is printed, because reading takes seconds. */
const MUCH = 4 * 1024 * 1024;

/** The texts of all sources, of a folder those of its YAML and JSON files. @throws MeridianError `invalid` that names the source */
export async function readSources(sources: readonly string[]): Promise<SourceText[]> {
  const files: SourceText[] = [];
  for (const source of sources)
    for (const name of await filesOf(source)) files.push({ name, text: utf8Text(name, await contentOf(name)) });
  const size = files.reduce((sum, file) => sum + file.text.length, 0);
  if (size > MUCH) note(`reading ${String(Math.round(size / 1024 / 1024))} MiB of documents …`);
  return files;
}

async function filesOf(source: string): Promise<string[]> {
  if (source === '-' || /^https?:\/\//.test(source)) return [source];
  const found = await stat(source).catch(() => null);
  if (found === null) throw new MeridianError('invalid', `${source}: no such file or folder`);
  if (!found.isDirectory()) return [source];
  const names = await readdir(source, { recursive: true });
  return names
    .filter((name) => ENDINGS.has(extname(name)) && !isOfVolume(name))
    .sort()
    .map((name) => join(source, name));
}

/** The volume of a ConfigMap has its files in a folder `..<time>`, and links to them beside it. */
function isOfVolume(name: string): boolean {
  return name.split(sep).some((part) => part.startsWith('..'));
}

async function contentOf(source: string): Promise<Uint8Array> {
  if (source === '-') return await buffer(process.stdin);
  try {
    if (!/^https?:\/\//.test(source)) return await readFile(source);
    const response = await fetch(source, { signal: AbortSignal.timeout(60_000) });
    if (!response.ok) throw new Error(`the answer has status ${String(response.status)}`);
    return await response.bytes();
  } catch (cause) {
    // The message of a fetch error has no reason; its cause has one.
    const reason = (cause as Error).cause ?? cause;
    throw new MeridianError('invalid', `${source}: ${messageOf(reason)}`, { cause });
  }
}

/**
 * Drops a byte order mark. @throws MeridianError `invalid` for bytes other than UTF-8: guessing an encoding could change the
 * meaning
 */
function utf8Text(source: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new MeridianError('invalid', `${shownName(source)}: is not UTF-8 text`, { cause });
  }
}

/** The name of a source for people. */
export function shownName(source: string): string {
  return source === '-' ? 'standard input' : source;
}

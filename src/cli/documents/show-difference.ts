// The difference of a write as lines of YAML, for people.
import type { Json } from '../../resource/types.ts';
import { stringify } from 'yaml';
import { styleText } from 'node:util';
import type { ApiClient } from '../client/api-client.ts';
import { applyPatch } from './apply-patch.ts';
import type { Applied } from './apply-requests.ts';
import { visibleText } from '../../base/visible-text.ts';
import { usesColour } from '../output.ts';
import { storedNameOf } from '../../document/read-document.ts';
import { objectOf } from '../../resource/read-json.ts';

/** Lines of `- `, `+ ` and their context; empty without changes. Reads the stored resource. */
export async function differenceOf(client: ApiClient, { document, result, diff = [] }: Applied): Promise<string[]> {
  if (diff.length === 0) return [];
  const { info, mesh } = document;
  const stored = result === 'created' ? undefined : await client.get(info, mesh, storedNameOf(document));
  const before: Json = stored ?? null;
  const after = applyPatch(before, diff);
  const { diffLines } = await import('../views/text-diff.ts');
  if (!info.adminOnly) return paint(diffLines(yamlOf(before), yamlOf(after)));
  const isChanged = objectOf(before)['data'] !== objectOf(after)['data'];
  return paint(
    diffLines(yamlOf(hidden(before, '(hidden)')), yamlOf(hidden(after, isChanged ? '(hidden, changed)' : '(hidden)'))),
  );
}

/** The difference of two documents; null is the document of a resource that does not exist. */
export async function linesBetween(before: Json, after: Json): Promise<string[]> {
  const { diffLines } = await import('../views/text-diff.ts');
  return paint(diffLines(yamlOf(before), yamlOf(after)));
}

/** The value of a secret is never printed. */
export function hidden(resource: Json, shown: string): Json {
  const object = objectOf(resource);
  return object['data'] === undefined ? resource : { ...object, data: shown };
}

function yamlOf(resource: Json): string {
  if (resource === null) return '';
  const { creationTime: _created, modificationTime: _modified, ...rest } = objectOf(resource);
  return stringify(rest);
}

function paint(given: readonly string[]): string[] {
  const lines = given.map(visibleText);
  if (!usesColour(process.stdout)) return lines;
  return lines.map((line) =>
    line.startsWith('-') ? styleText('red', line) : line.startsWith('+') ? styleText('green', line) : line,
  );
}

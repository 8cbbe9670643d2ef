// The Dataplane of `dataplane run`: one document of a file with `{{ variables }}`, checked as a control plane checks it.
import { MeridianError, messageOf, type Violation } from '../../base/errors.ts';
import { readUniversal } from '../../document/universal-form.ts';
import { normalizeSpec } from '../../resource/codec.ts';
import { label } from '../../resource/labels.ts';
import { olderKeyWarnings } from '../../resource/older-keys.ts';
import { objectOf, textOf } from '../../resource/read-json.ts';
import { namesOf } from '../../resource/stored-name.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import { unknownKeys } from '../../validation/unknown-keys.ts';
import { dataplaneViolations, writtenDataplaneViolations } from '../../resource/validate-dataplane.ts';
import { peerDataplaneViolations } from '../../validation/validate-written-dataplane.ts';
import { problemText } from '../views/problem-text.ts';
import { parseDocuments, type ResourceDocument } from './read-files.ts';
import { readSources, shownName, type SourceText } from './sources.ts';

type DataplaneDocument = {
  readonly mesh: string;
  readonly name: string;
  /** The name as it is stored, with the namespace of the labels. */
  readonly storedName: string;
  /** The document in Universal form, as a control plane stores it. */
  readonly document: JsonObject;
  readonly warnings: readonly string[];
};

/**
 * Reads the Dataplane of a file, a URL or standard input (`-`).
 * @param variables what `{{ name }}` in the file becomes
 * @throws MeridianError `invalid` that names file, line and field
 */
export async function readDataplane(source: string, variables: ReadonlyMap<string, string>): Promise<DataplaneDocument> {
  const texts = (await readSources([source])).map((file) => ({ ...file, text: fillIn(file, variables) }));
  const [document, ...others] = parseDocuments(texts, '');
  if (document === undefined || others.length > 0)
    throw new MeridianError('invalid', `${shownName(source)}: must hold one Dataplane and nothing else`);
  if (document.info.name !== 'Dataplane')
    throw new MeridianError('invalid', `${document.place}: must be a Dataplane, and is a ${document.info.name}`);
  const { mesh, name, info, body } = document;
  const checked = checkDataplane(document);
  const { storedName } = namesOf(name, textOf(objectOf(checked['labels'])[label.namespace]));
  return { mesh, name, storedName, document: checked, warnings: olderKeyWarnings(info, body) };
}

/** The text with each `{{ name }}` replaced by its value. A line keeps its number. */
export function fillIn({ name, text }: SourceText, variables: ReadonlyMap<string, string>): string {
  const problems: string[] = [];
  const lines = text.split('\n').map((line, index) =>
    line.replaceAll(/\{\{\{?([^{}]*)\}?\}\}/g, (whole, inner: string) => {
      const value = variables.get(inner.trim());
      if (value !== undefined) return value;
      problems.push(
        `  ${shownName(name)}:${String(index + 1)}: ${whole} has no value; give it with --dataplane-var ${inner.trim()}=VALUE`,
      );
      return whole;
    }),
  );
  if (problems.length > 0) throw new MeridianError('invalid', `nothing was done:\n${problems.join('\n')}`);
  return lines.join('\n');
}

/** The document in its stored form. @throws MeridianError that names each place */
function checkDataplane({ info, mesh, name, body, placeOf }: ResourceDocument): JsonObject {
  const refusal = (violations: readonly Violation[]): MeridianError => {
    const lines = violations.map(({ field, reason }) => problemText(placeOf(field), field, reason));
    return new MeridianError('invalid', `nothing was done:\n${lines.join('\n')}`);
  };
  const read = readUniversal(info, body);
  if ('violations' in read) throw refusal(read.violations);
  const checked = checkSpec(info, read.spec);
  if ('violations' in checked) throw refusal(checked.violations);
  return { type: info.name, mesh, name, labels: read.labels, ...checked.spec };
}

/** The stored form of a spec, or every violation of what was written. */
function checkSpec(info: TypeInfo, written: JsonObject): { spec: JsonObject } | { violations: readonly Violation[] } {
  let spec: JsonObject;
  try {
    spec = normalizeSpec(info, written);
  } catch (error) {
    const found = error instanceof MeridianError ? error.violations : [];
    return { violations: found.length > 0 ? found : [{ field: '', reason: messageOf(error) }] };
  }
  const violations = [
    ...unknownKeys(info, written),
    ...writtenDataplaneViolations(written),
    ...dataplaneViolations(spec),
    ...peerDataplaneViolations(spec),
  ];
  return violations.length > 0 ? { violations } : { spec };
}

/** The values of `--dataplane-var name=value`, by name. @throws MeridianError `invalid` for a text without a name */
export function readVariables(pairs: readonly string[]): Map<string, string> {
  return new Map(
    pairs.map((pair) => {
      const [, name = '', value = ''] = /^([^=]+)=([^\n\r]*)$/.exec(pair) ?? [];
      if (name.trim() !== '') return [name.trim(), value];
      throw new MeridianError('invalid', `--dataplane-var: ${JSON.stringify(pair)} must be NAME=VALUE on one line`);
    }),
  );
}

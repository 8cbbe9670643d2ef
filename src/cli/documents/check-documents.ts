// Checks documents before anything is sent: unknown keys and values that schemas refuse, each with its position (D7).
import { messageOf, MeridianError, type Violation } from '../../base/errors.ts';
import type { Applied } from './apply-requests.ts';
import { checkRoute, GATEWAY_TYPES } from '../../gateway-api/stored-document.ts';
import { normalizeSpec } from '../../resource/codec.ts';
import { checkSpec } from '../../resource/schema/check-spec.ts';
import { droppedKeys } from './dropped-keys.ts';
import type { ResourceDocument } from './read-files.ts';
import { problemText } from '../views/problem-text.ts';
import { memberPath } from '../../document/position.ts';
import { isBesideSpec, readUniversal } from '../../document/universal-form.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';

/** A valid document with a probable mistake. */
export type DocumentWarning = { readonly document: ResourceDocument; readonly text: string };

/**
 * @returns warnings, in the order of the documents
 * @throws MeridianError `invalid` that lists every violation of every document
 */
export function checkDocuments(documents: readonly ResourceDocument[]): DocumentWarning[] {
  const warnings: DocumentWarning[] = [];
  const problems: string[] = [];
  for (const document of documents) {
    const checked = checkDocument(document);
    const placed = checked.violations.map((violation) => ({ place: document.placeOf(violation.field), ...violation }));
    placed.sort((a, b) => a.place.localeCompare(b.place, 'en', { numeric: true }));
    for (const { place, field, reason } of placed) problems.push(problemText(place, field, reason));
    for (const text of checked.warnings) warnings.push({ document, text });
  }
  if (problems.length > 0) throw new MeridianError('invalid', `nothing was done:\n${problems.join('\n')}`);
  return warnings;
}

/** The warnings that the control plane did not print for the same document. Both sides have the same schemas. */
export function unansweredWarnings(warnings: readonly DocumentWarning[], applied: readonly Applied[]): DocumentWarning[] {
  const answered = new Map(applied.map(({ document, messages }) => [document, messages]));
  return warnings.filter(({ document, text }) => answered.get(document)?.includes(text) !== true);
}

function checkDocument({ info, mesh, name, body }: ResourceDocument): {
  violations: readonly Violation[];
  warnings: readonly string[];
} {
  const read = readUniversal(info, body);
  if ('violations' in read) return { violations: read.violations, warnings: [] };
  const { labels, spec } = read;
  const resource = { labels, mesh, name, spec };
  if (GATEWAY_TYPES.has(info.name)) return { violations: checkRoute({ type: info.name, ...resource }), warnings: [] };
  if (info.codec.kind === 'json') {
    const { violations, warnings } = checkSpec(info, resource, { strict: true });
    return { violations: [...unknownKeys(info, body), ...violations], warnings };
  }
  try {
    const dropped = droppedKeys(spec, (given) => normalizeSpec(info, given));
    return { violations: dropped.map((field) => ({ field, reason: `is not a known key of ${info.name}` })), warnings: [] };
  } catch (error) {
    const found = error instanceof MeridianError ? error.violations : [];
    return { violations: found.length > 0 ? found : [{ field: '', reason: messageOf(error) }], warnings: [] };
  }
}

/** Keys beside the spec that no control plane reads: `mehs` leaves a resource in the default mesh. */
function unknownKeys({ name }: TypeInfo, body: JsonObject): Violation[] {
  return Object.keys(body)
    .filter((key) => !isBesideSpec(key))
    .map((key) => ({ field: memberPath('', key), reason: `is not a known key of ${name}` }));
}

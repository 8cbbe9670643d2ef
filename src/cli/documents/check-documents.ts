// Checks documents before anything is sent: unknown keys and values that schemas refuse, each with its position (D7).
import { messageOf, MeridianError, type Violation } from '../../base/errors.ts';
import type { Applied } from './apply-requests.ts';
import { checkRoute, GATEWAY_TYPES } from '../../gateway-api/stored-document.ts';
import { normalizeSpec } from '../../resource/codec.ts';
import { olderKeyWarnings } from '../../resource/older-keys.ts';
import { checkSpec } from '../../validation/check-spec.ts';
import { unknownKeys } from '../../validation/unknown-keys.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { ResourceDocument } from './read-files.ts';
import { problemText } from '../views/problem-text.ts';
import { readUniversal, unknownKeysBesideSpec, type UniversalParts } from '../../document/universal-form.ts';

/** A valid document with a probable mistake. */
type DocumentWarning = { readonly document: ResourceDocument; readonly text: string };

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

type Checked = { readonly violations: readonly Violation[]; readonly warnings: readonly string[] };

function checkDocument(document: ResourceDocument): Checked {
  const { info, body } = document;
  const unknown = unknownKeysBesideSpec(info, body);
  const read = readUniversal(info, body);
  if ('violations' in read) return { violations: [...unknown, ...read.violations], warnings: [] };
  const { violations, warnings } = checkContent(document, read);
  return { violations: [...unknown, ...violations], warnings };
}

function checkContent({ info, mesh, name }: ResourceDocument, { labels, spec }: UniversalParts): Checked {
  const resource = { labels, mesh, name, spec };
  if (GATEWAY_TYPES.has(info.name)) return { violations: checkRoute({ type: info.name, ...resource }), warnings: [] };
  if (info.codec.kind === 'json') return checkSpec(info, resource, { strict: true });
  return { violations: [...unknownKeys(info, spec), ...unfitValues(info, spec)], warnings: olderKeyWarnings(info, spec) };
}

/** The values that do not fit the message of a protobuf type. */
function unfitValues(info: TypeInfo, spec: JsonObject): readonly Violation[] {
  try {
    normalizeSpec(info, spec);
    return [];
  } catch (error) {
    const found = error instanceof MeridianError ? error.violations : [];
    return found.length > 0 ? found : [{ field: '', reason: messageOf(error) }];
  }
}

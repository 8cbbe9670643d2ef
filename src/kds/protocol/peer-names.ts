// The names that a peer may give a resource. Only names that no control plane can create are refused. Names appear in terminals,
// logs, paths and SQL: every character must be visible, and none may separate paths. Pure.
import type { Violation } from '../../base/errors.ts';
import type { WireResource } from '../../resource/codec.ts';
import { label } from '../../resource/labels.ts';
import { isStorable } from '../../resource/storable-text.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';

/** Wider than the REST API: old control planes allowed «_», and a database may have names in any script. */
const NAME = /^(?!\.)[[\p{L}\p{M}\p{N}._\-]--\p{Default_Ignorable_Code_Point}]+$/v;
const NAME_REASON = 'must be letters, digits, "-", "_" and ".", and must not start with "."';
/** The character limit of the table. */
const MAX_NAME = 253;
const MAX_MESH = 100;
/** Control characters, format characters (including those that change the direction of writing) and line separators. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/v;
const ALL_INVISIBLE = new RegExp(INVISIBLE, 'gv');

/** The violations in the name, mesh and labels of a peer's resource. Label values may have all visible characters. */
export function peerNameViolations(
  { scope }: TypeInfo,
  { name, mesh, labels }: Pick<WireResource, 'name' | 'mesh' | 'labels'>,
): Violation[] {
  const violations = nameViolations('name', name, MAX_NAME);
  if (scope === 'Global' && mesh !== '') violations.push({ field: 'mesh', reason: 'must be empty: the type belongs to no mesh' });
  if (scope === 'Mesh' && mesh === '') violations.push({ field: 'mesh', reason: 'must name the mesh of the resource' });
  else if (scope === 'Mesh') violations.push(...nameViolations('mesh', mesh, MAX_MESH));
  for (const [key, value] of Object.entries(labels)) {
    const field = `labels[${visible(key)}]`;
    if (!isVisible(key)) violations.push({ field, reason: 'the key must not contain control characters' });
    else if (key === label.displayName) violations.push(...nameViolations(field, value, MAX_NAME));
    else if (!isVisible(value)) violations.push({ field, reason: 'must not contain control characters' });
  }
  return violations;
}

function nameViolations(field: string, text: string, most: number): Violation[] {
  if (text.length > most) return [{ field, reason: `must have at most ${String(most)} characters` }];
  return NAME.test(text) ? [] : [{ field, reason: NAME_REASON }];
}

function isVisible(text: string): boolean {
  return isStorable(text) && !INVISIBLE.test(text);
}

/** The text in quotes, its invisible characters as code points. */
function visible(text: string): string {
  const escaped = (found: string): string => `\\u{${Number(found.codePointAt(0)).toString(16)}}`;
  return JSON.stringify(text).replaceAll(ALL_INVISIBLE, escaped);
}

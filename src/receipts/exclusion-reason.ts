// The reason why a stored resource is not in the log of this control plane. Pure.
import { visibilityOf, type SendRules } from '../kds/protocol/rules.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';

/** Returns null for a type that the rules know. */
export function exclusionOfType(type: string, rules: SendRules): string | null {
  return rules.types.includes(typeOf(type)) ? null : `the type ${type} is not synced`;
}

/** Returns null if the rules send it. */
export function exclusionOfRow(row: Resource, rules: SendRules): string | null {
  const unsynced = exclusionOfType(row.type, rules);
  if (unsynced !== null) return unsynced;
  const { visibility, because } = visibilityOf(rules, row);
  return visibility.to === 'none' ? because : null;
}

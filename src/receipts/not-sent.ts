// The reason why a stored resource is not in the log of this control plane. Pure.
import { visibilityOf, type SendRules } from '../kds/rules.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';

/** Null if the rules send it. */
export function whyNotSent(row: Resource, rules: SendRules): string | null {
  if (!rules.types.includes(typeOf(row.type))) return `the type ${row.type} is not synced`;
  const { visibility, because } = visibilityOf(rules, row);
  return visibility.to === 'none' ? because : null;
}

// Whether a Gateway API route may be stored: what `parseRoute` says of its document, in the spelling of the body that was written.
// Invariant: the reconciler can convert every row that passes, with any result for its references (D24, D25).
import type { Violation } from '../base/violations.ts';
import { label } from '../resource/labels.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import { parseRoute } from './parse-route.ts';
import { documentOf } from './stored-document.ts';

/**
 * Everything that is wrong with a route in Universal form, each with its path in that form: `name`, `labels["…"]`, `spec.rules[0]…`.
 * Unknown keys are refused too, also by a plain PUT: traffic that an author described is never dropped silently.
 * @param row.type HTTPRoute or TCPRoute
 * @param row.name the display name
 */
export function checkRoute(row: {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly labels: Labels;
  readonly spec: JsonObject;
}): readonly Violation[] {
  // The write computes the display name: ignore the one of the caller.
  const { [label.displayName]: _given, ...labels } = row.labels;
  const parsed = parseRoute(documentOf({ ...row, labels }));
  return 'route' in parsed ? [] : parsed.violations.map(({ field, reason }) => ({ field: universalField(field), reason }));
}

function universalField(field: string): string {
  if (field === 'metadata.namespace') return `labels[${JSON.stringify(label.namespace)}]`;
  return field.replace(/^metadata\.(?=name$|labels)/, '');
}

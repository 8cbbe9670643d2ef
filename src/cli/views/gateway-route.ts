// The status of a Gateway API route, from `status.parents[].conditions`: columns, and text for `inspect routes`. Pure.
// Invariant: the control plane of the route has written the conditions; nothing is decided here.
import { visibleLine } from '../../base/visible-text.ts';
import { displayNameOf, label } from '../../resource/labels.ts';
import { at, items, textAt } from '../../resource/json-access.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import type { Column } from './table.ts';

/** Accepted and ResolvedRefs over all parents: False if one parent has False, `-` while no reconciler has checked the route. */
export const gatewayRouteColumns: readonly Column[] = [
  { head: 'ACCEPTED', of: (item) => overall(item, 'Accepted') },
  { head: 'RESOLVED REFS', of: (item) => overall(item, 'ResolvedRefs') },
  { head: 'WHY', wide: true, of: (item) => problemsOf(item).join('; ') || '-' },
];

/** The messages of the conditions that reject a route or some of its rules, each once. */
export function problemsOf(item: Item): string[] {
  const bad = conditionsOf(item).filter(({ type, status }) => status === (type === 'PartiallyInvalid' ? 'True' : 'False'));
  // PartiallyInvalid gives more details than ResolvedRefs.
  const isExplained = bad.some(({ type }) => type === 'PartiallyInvalid');
  const shown = bad.filter(({ type }) => !(isExplained && type === 'ResolvedRefs'));
  return [...new Set(shown.map(({ message }) => message))];
}

type Condition = { readonly type: string; readonly status: string; readonly message: string };

function overall(item: Item, type: string): string {
  const found = conditionsOf(item).filter((condition) => condition.type === type);
  if (found.length === 0) return '-';
  return found.every(({ status }) => status === 'True') ? 'True' : 'False';
}

function conditionsOf({ status }: Item): Condition[] {
  const conditions = items(at(status, 'parents')).flatMap((parent) => items(at(parent, 'conditions')));
  return conditions.map((condition) => ({
    type: textAt(condition, 'type'),
    status: textAt(condition, 'status'),
    message: textAt(condition, 'message'),
  }));
}

/** A route with its status, for programs. */
export function routeView(item: Item): JsonObject {
  const { type, mesh = '', labels = {} } = item;
  return {
    kind: type,
    mesh,
    name: displayNameOf(item),
    namespace: labels[label.namespace] ?? null,
    storedName: item.name,
    parents: [...items(at(item.status, 'parents'))],
  };
}

/** A route with its status, for people: one line for each condition. */
export function routeText(item: Item): string {
  const { type, mesh = '', labels = {} } = item;
  const parents = items(at(item.status, 'parents'));
  const lines = parents.flatMap((parent) => [
    `  for the clients of ${parentText(at(parent, 'parentRef'))}`,
    ...items(at(parent, 'conditions')).map(conditionText),
  ]);
  return [
    `${type} ${mesh}/${displayNameOf(item)}${placeText(labels[label.namespace])}`,
    ...(parents.length === 0 ? ['  not checked yet: the leader of its control plane does that'] : lines),
  ].join('\n');
}

/** `    ResolvedRefs False (DegradedRoutes)`, with the message below it. */
function conditionText(condition: Json): string {
  const [type, status, reason] = [textAt(condition, 'type'), textAt(condition, 'status'), textAt(condition, 'reason')];
  return `    ${type} ${status}${reason === type || reason === '' ? '' : ` (${reason})`}\n      ${visibleLine(textAt(condition, 'message'))}`;
}

/** `Service cart in namespace shop, port 80`. */
function parentText(ref: Json | undefined): string {
  const port = textAt(ref, 'sectionName') || textAt(ref, 'port');
  return `${textAt(ref, 'kind')} ${textAt(ref, 'name')}${placeText(textAt(ref, 'namespace'))}${port === '' ? '' : `, port ${port}`}`;
}

function placeText(namespace: string | undefined): string {
  return namespace ? ` in namespace ${namespace}` : '';
}

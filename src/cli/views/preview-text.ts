// The answer of `POST /_preview` as text: the effect of each document, and the changes for proxies. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import { displayNameOf } from '../../resource/labels.ts';
import type { Answer } from '../../answers/answers.ts';
import { shortName } from './kri-text.ts';
import { membershipLines } from './membership-text.ts';
import { table } from './table.ts';

type Preview = Answer<'Preview'>;
type Item = Preview['items'][number];
type ChangedProxy = Preview['proxies']['items'][number];
type Value = ChangedProxy['changes'][number]['after'];

export function previewText({ items, proxies }: Preview): string {
  const lines = items.flatMap(documentLines);
  const { candidates, compared, changed, items: changedProxies } = proxies;
  lines.push('', countLine(candidates, compared, changed));
  for (const proxy of changedProxies) lines.push('', ...proxyLines(proxy));
  return lines.join('\n');
}

function documentLines({ type, name, result, warnings = [], takes = [], sentTo, sync, membership }: Item): string[] {
  const would = result === 'unchanged' ? 'unchanged' : `would be ${result}`;
  const lines = [visibleLine(`${type} ${name} ${would}`)];
  for (const warning of warnings) lines.push(visibleLine(`  warning: ${warning}`));
  if (takes.length > 0) lines.push(`  with its ${takes.map(({ type: of, total }) => `${String(total)} ${of}`).join(', ')}`);
  for (const line of membershipLines(membership)) lines.push(`  ${line}`);
  // A Zone goes to no zone.
  if (type === 'Zone') return lines;
  const isDeleted = result === 'deleted';
  const { targets } = sync;
  if (targets.length === 0) lines.push('  no zone has joined yet');
  // Most zones have one reason.
  for (const [reason, of] of Map.groupBy(targets, (one) => JSON.stringify([one.isSent, one.name, one.reason, one.needs]))) {
    const [first] = of;
    if (first === undefined || reason === '') continue;
    const zones = of.map(({ to }) => to).join(', ');
    if (isDeleted && !first.isSent) continue;
    const goes = isDeleted ? `${zones} would lose ${first.name ?? name}` : `goes to ${zones}, as ${first.name ?? name}`;
    const how = first.isSent ? goes : `does not go to ${zones}`;
    lines.push(visibleLine(`  ${how}: ${first.reason}`));
    if (first.needs !== undefined) lines.push(visibleLine(`    needs ${first.needs}`));
  }
  const away = targets.filter(
    ({ isSent, zone }) => isSent && zone !== undefined && !['online', 'lagging'].includes(zone.connection),
  );
  for (const { to, zone } of away) lines.push(visibleLine(`  ${to} cannot take it now: ${zone?.reason ?? ''}`));
  const more = sentTo - targets.filter(({ isSent }) => isSent).length;
  if (more > 0) lines.push(`  and ${String(more)} more zones`);
  return lines;
}

function countLine(candidates: number, compared: number, changed: number): string {
  if (candidates === 0) return 'no proxy changes: the documents touch none';
  const of = compared < candidates ? `${String(compared)} compared of ${String(candidates)}` : String(candidates);
  return `${String(changed)} of ${of} ${candidates === 1 ? 'proxy' : 'proxies'} would change`;
}

function proxyLines({ dataplane, zone, isNew, isGone = false, total, changes }: ChangedProxy): string[] {
  const what = isNew ? ', which is new' : isGone ? ', which would be gone' : '';
  const head = `${displayNameOf(dataplane)}${zone === '' ? '' : ` in ${zone}`}${what}`;
  if (changes.length === 0) return [visibleLine(total === 0 ? head : `${head}: ${String(total)} values`)];
  const rows = changes.map(({ kri, route, kind, path, before, after }) => [
    visibleLine(shortName(route ?? kri, dataplane.mesh)),
    `${kind} ${path}`,
    valueText(before),
    valueText(after),
  ]);
  const lines = [visibleLine(head), ...table(['ON', 'FIELD', 'BEFORE', 'AFTER'], rows).split('\n')];
  return total > changes.length ? [...lines, `and ${String(total - changes.length)} more values`] : lines;
}

function valueText(value: Value): string {
  if (value === null) return '-';
  const text = typeof value.value === 'string' ? value.value : JSON.stringify(value.value);
  return visibleLine(`${text} (${value.origins.map(({ name }) => name).join(', ')})`);
}

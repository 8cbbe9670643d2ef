// The text of `meridian describe`: a resource, the zones that have it, and its last versions. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';
import { displayNameOf, label } from '../../resource/labels.ts';
import { isObject, textOf } from '../../resource/read-json.ts';
import { isServiceType, type TypeInfo } from '../../resource/type-registry.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import { serialize } from '../output.ts';
import { historyText } from './history-text.ts';
import { rolloutText } from './rollout-text.ts';

/** The number of versions that the text shows; `meridian history` shows all. */
const MAX_VERSIONS = 5;
const INDENT = '  ';

type Described = {
  readonly info: TypeInfo;
  readonly item: Item;
  /** It is null if the control plane does not say which zones have the resource. */
  readonly rollout: Answer<'Rollout'> | null;
  /** It is null if the control plane keeps no history. */
  readonly history: Answer<'History'> | null;
};

/** @param age prints the age of a time, such as `5m` */
export function describeText({ info, item, rollout, history }: Described, age: (time: string) => string): string {
  const { type, mesh, name, labels = {}, creationTime, modificationTime, kri, status, ...content } = item;
  const timeText = (time: Json | undefined): string => (typeof time === 'string' ? `${time} (${age(time)})` : '');
  const head: readonly (readonly [string, string])[] = [
    ['Name', displayNameOf(item)],
    ['Stored name', displayNameOf(item) === name ? '' : name],
    ['Type', type],
    ['Mesh', mesh ?? ''],
    ['Namespace', labels[label.namespace] ?? ''],
    ['Zone', labels[label.zone] ?? ''],
    ['Origin', labels[label.origin] ?? ''],
    ['KRI', textOf(kri)],
    ['Created', timeText(creationTime)],
    ['Updated', timeText(modificationTime)],
    ...Object.entries(labels).map(([key, value], index) => [index === 0 ? 'Labels' : '', `${key}=${value}`] as const),
  ];
  const width = Math.max(...head.map(([key]) => key.length)) + 1;
  const lines = head.flatMap(([key, value]) =>
    value === '' ? [] : [`${(key === '' ? '' : `${key}:`).padEnd(width)}  ${visibleLine(value)}`],
  );
  const sections: readonly (readonly [string, string])[] = [
    [isObject(content['spec']) ? 'Spec' : 'Fields', yamlText(isObject(content['spec']) ? content['spec'] : content)],
    ['Status', isObject(status) ? yamlText(status) : ''],
    ['Zones', rollout === null ? '' : rolloutText(rollout, false)],
    ['History', history === null ? '' : versionsText(history, age)],
    ['See also', seeAlso(info, item).join('\n')],
  ];
  const shown = sections.filter(([, text]) => text !== '');
  return [lines.join('\n'), ...shown.map(([title, text]) => `\n${title}:\n${indented(text)}`)].join('\n');
}

function yamlText(value: JsonObject): string {
  return Object.keys(value).length === 0 ? '' : serialize(value, 'yaml');
}

function versionsText({ items, home }: Answer<'History'>, age: (time: string) => string): string {
  if (items.length === 0) return home === undefined ? '' : `This is a copy of a resource of ${home}: its history is there.`;
  const table = historyText(items.slice(0, MAX_VERSIONS), age);
  return items.length > MAX_VERSIONS ? `${table}\n${String(items.length - MAX_VERSIONS)} more: meridian history` : table;
}

/** The commands that say more about such a resource. */
function seeAlso(info: TypeInfo, item: Item): string[] {
  const type = info.name.toLowerCase();
  const name = `${item.name}${item.mesh === undefined ? '' : ` --mesh ${item.mesh}`}`;
  const commands = [`meridian explain ${type}`];
  if (info.policy !== null) commands.unshift(`meridian inspect policy ${type} ${name}`);
  else if (info.name === 'Dataplane') commands.unshift(`meridian inspect dataplane ${name}`);
  else if (isServiceType(info.name)) commands.unshift(`meridian inspect service ${name}`);
  else if (info.name === 'HTTPRoute' || info.name === 'TCPRoute') return [`meridian inspect routes ${name}`];
  else if (info.name === 'Zone') commands.unshift('meridian inspect zones');
  else if (info.name === 'Mesh') commands.unshift('meridian inspect meshes');
  return commands;
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : INDENT + line))
    .join('\n');
}

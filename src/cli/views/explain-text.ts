// The text of `meridian explain` for a type or a field, from the JSON Schema of its spec. Pure.
import { isObject, objectOf, textOf } from '../../resource/read-json.ts';
import { nearestKey } from '../../resource/nearest-key.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import { UsageError } from '../exit-codes.ts';

const INDENT = '  ';
/** The order in which policies of one type win when several set a value. */
const PRECEDENCE = [
  'ORDER    Of several policies that set a value on one proxy, the strongest has it: the more specific targetRef,',
  '         then a policy of the zone before one of global, then the more specific role, then the more specific',
  '         to[].targetRef, then the name that is first in the alphabet. meridian inspect policy shows what is overridden.',
];

/**
 * The schema of a field.
 * @param path keys from the spec, with or without the prefix `spec`; lists and maps are traversed without an index
 * @throws UsageError that lists the fields at the end of the valid path
 */
export function fieldSchema(info: TypeInfo, schema: JsonObject, path: readonly string[]): JsonObject {
  const keys = path[0] === 'spec' && objectOf(schema['properties'])['spec'] === undefined ? path.slice(1) : path;
  let found = schema;
  for (const [index, key] of keys.entries()) {
    const members = membersOf(found);
    const next = members[key];
    if (!isObject(next)) throw unknownField([info.name, ...keys.slice(0, index)].join('.'), key, Object.keys(members));
    found = next;
  }
  return found;
}

/** A type or a field as lines: its description, its allowed values, and its fields. */
export function explainText(
  info: TypeInfo,
  path: readonly string[],
  schema: JsonObject,
  options: { recursive: boolean },
): string {
  const names = [info.path, info.shortName ?? ''].filter((name) => name !== '').join(', ');
  const lines = [`TYPE     ${info.name} (${names}), ${info.scope === 'Mesh' ? 'in a mesh' : 'not in a mesh'}`];
  if (path.length > 0) lines.push(`FIELD    ${path.join('.')} <${typeText(schema)}>`);
  const description = descriptionOf(schema);
  if (description !== '') lines.push(`ABOUT    ${description}`);
  if (path.length === 0 && info.policy !== null) lines.push(...PRECEDENCE);
  for (const [head, text] of limitsOf(schema)) lines.push(`${head.padEnd(9)}${text}`);
  const members = membersOf(schema);
  if (Object.keys(members).length === 0) return lines.join('\n');
  return [...lines, '', 'FIELDS', ...memberLines(schema, options.recursive, INDENT)].join('\n');
}

function memberLines(schema: JsonObject, recursive: boolean, indent: string): string[] {
  const members = Object.entries(membersOf(schema));
  const heads = members.map(
    ([key, member]) => `${key} <${typeText(objectOf(member))}>${isRequired(schema, key) ? ' required' : ''}`,
  );
  const width = Math.max(...heads.map((head) => head.length));
  return members.flatMap(([, member], index) => {
    const field = objectOf(member);
    const limits = limitsOf(field).map(([head, text]) => `${head.slice(0, 1)}${head.slice(1).toLowerCase()}: ${text}.`);
    const about = [descriptionOf(field), ...limits].filter((text) => text !== '').join(' ');
    const line = `${indent}${(heads[index] ?? '').padEnd(about === '' ? 0 : width + 2)}${about}`;
    return recursive ? [line, ...memberLines(field, true, indent + INDENT)] : [line];
  });
}

/** Fields of an object, of the items of a list, or of the values of a map. */
function membersOf(schema: JsonObject): JsonObject {
  const { properties, items, additionalProperties } = schema;
  if (isObject(properties)) return properties;
  if (isObject(items)) return membersOf(items);
  return isObject(additionalProperties) ? membersOf(additionalProperties) : {};
}

function isRequired(schema: JsonObject, key: string): boolean {
  const { required, items } = schema;
  if (isObject(items)) return isRequired(items, key);
  const field = objectOf(membersOf(schema)[key]);
  return Array.isArray(required) && required.includes(key) && field['default'] === undefined;
}

/** `string`, `[]object`, `map of string`, `integer or string`. */
function typeText(schema: JsonObject): string {
  const { type, items, additionalProperties, anyOf, format } = schema;
  if (type === 'array') return `[]${typeText(objectOf(items))}`;
  if (isObject(additionalProperties) && schema['properties'] === undefined) return `map of ${typeText(additionalProperties)}`;
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map((member) => typeText(objectOf(member))))].join(' or ');
  if (typeof format === 'string' && format.includes('duration')) return 'duration';
  if (Array.isArray(type)) return type.map(textOf).join(' or ');
  return typeof type === 'string' ? type : 'any';
}

/** Allowed values, range and default, each with its heading. */
function limitsOf(schema: JsonObject): [string, string][] {
  const { enum: values, const: only, minimum, maximum, default: given, items } = schema;
  const allowed = Array.isArray(values) ? values : only === undefined ? [] : [only];
  const limits: [string, string][] = [];
  if (allowed.length > 0) limits.push(['ALLOWED', allowed.map(valueText).join(', ')]);
  else if (isObject(items)) limits.push(...limitsOf(items).filter(([head]) => head === 'ALLOWED'));
  if (typeof minimum === 'number' && typeof maximum === 'number') limits.push(['RANGE', `${minimum} to ${maximum}`]);
  if (given !== undefined) limits.push(['DEFAULT', valueText(given)]);
  return limits;
}

function valueText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function descriptionOf(schema: JsonObject): string {
  return textOf(schema['description']);
}

function unknownField(where: string, key: string, known: readonly string[]): UsageError {
  const near = nearestKey(key, known);
  const hint = near === null ? '' : ` Did you mean ${near}?`;
  const fields = known.length === 0 ? `${where} has no fields.` : `Fields of ${where}: ${known.join(', ')}`;
  return new UsageError(`${where} has no field ${JSON.stringify(key)}.${hint}\n${fields}`);
}

// The schemas of the OpenAPI document: one of each resource type, made from the registry, and those of fixed answers.
import { isServiceType, resourceTypes, type TypeInfo } from '../resource/type-registry.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import type { ApiOptions } from './api-options.ts';

const text: JsonObject = { type: 'string' };
const time: JsonObject = { type: 'string', format: 'date-time' };
const whole: JsonObject = { type: 'integer', minimum: 0 };
const object: JsonObject = { type: 'object' };
const texts: JsonObject = { type: 'object', additionalProperties: text };

/** A reference to one of `components.schemas`. */
export function schemaRef(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

export function listOf(item: JsonObject): JsonObject {
  return {
    type: 'object',
    required: ['total', 'items', 'next'],
    properties: { total: whole, items: { type: 'array', items: item }, next: { type: ['string', 'null'], format: 'uri' } },
  };
}

export function openApiSchemas(specSchema: ApiOptions['specSchema']): JsonObject {
  const types = resourceTypes
    .filter(({ path }) => path !== '')
    .map((info) => [info.name, resourceSchema(info, specSchema)] as const);
  return {
    ...Object.fromEntries(types),
    Error: errorSchema,
    Change: {
      type: 'object',
      required: ['op', 'path'],
      properties: { op: { enum: ['add', 'remove', 'replace'] }, path: text, value: true },
    },
    Written: { type: 'object', properties: { warnings: { type: 'array', items: text } } },
    DryRun: writeResult({ dryRun: { const: true }, resource: object }),
    Applied: {
      type: 'object',
      required: ['dryRun', 'total', 'items'],
      properties: {
        dryRun: { type: 'boolean' },
        total: whole,
        items: { type: 'array', items: writeResult({ type: text, mesh: text, name: text }) },
      },
    },
    ZoneOverview: overview({ zone: object, zoneInsight: object }),
    DataplaneOverview: overview({ dataplane: object, dataplaneInsight: object }),
  };
}

function resourceSchema(info: TypeInfo, specSchema: ApiOptions['specSchema']): JsonObject {
  const isFlat = info.codec.kind === 'proto';
  const known = specSchema?.(info.name) ?? null;
  const meta: Record<string, Json> = {
    type: { const: info.name },
    ...(info.scope === 'Mesh' && { mesh: text }),
    name: text,
    labels: texts,
    creationTime: { ...time, readOnly: true },
    modificationTime: { ...time, readOnly: true },
    ...(info.shortName !== null && { kri: { ...text, readOnly: true } }),
    ...(isServiceType(info.name) && { snis: { type: 'array', readOnly: true, items: object } }),
  };
  return {
    type: 'object',
    title: info.singular,
    required: ['type', ...(info.scope === 'Mesh' ? ['mesh'] : []), 'name', ...(isFlat ? [] : ['spec'])],
    properties: {
      ...(isFlat && known !== null && (known['properties'] as JsonObject)),
      ...meta,
      ...(!isFlat && { spec: known === null ? object : embedded(info.name, known) }),
      ...(info.hasStatus && { status: { ...object, readOnly: true } }),
    },
  };
}

/** References inside of the schema stay its own. */
function embedded(type: string, { $schema: _dialect, ...schema }: JsonObject): JsonObject {
  return { $id: `urn:meridian:spec:${type}`, ...schema };
}

function overview(parts: JsonObject): JsonObject {
  return {
    type: 'object',
    required: ['type', 'name'],
    properties: { type: text, name: text, mesh: text, kri: text, labels: texts, ...parts },
  };
}

function writeResult(more: JsonObject): JsonObject {
  return {
    type: 'object',
    required: ['result', 'version'],
    properties: {
      ...more,
      result: { enum: ['created', 'updated', 'unchanged'] },
      version: whole,
      warnings: { type: 'array', items: text },
      diff: { type: 'array', items: schemaRef('Change') },
    },
  };
}

const parameter = {
  field: text,
  reason: text,
  related: { type: 'string', description: 'another field with which this one does not fit; the reason names it' },
};
const errorSchema: JsonObject = {
  type: 'object',
  required: ['type', 'status', 'title', 'detail', 'details'],
  properties: {
    type: { const: '/std-errors' },
    status: { type: 'integer' },
    title: text,
    detail: text,
    details: text,
    instance: text,
    invalid_parameters: { type: 'array', items: { type: 'object', properties: parameter } },
    causes: { type: 'array', items: { type: 'object', properties: { field: text, message: text } } },
    missing: {
      type: 'object',
      description: 'of a 404: the resource that does not exist, or the mesh that it needs',
      required: ['type', 'name'],
      properties: { type: text, mesh: text, name: text },
    },
  },
};

const validFor: JsonObject = { type: 'string', description: 'a Go duration such as 24h0m0s' };
const textList: JsonObject = { type: ['array', 'null'], items: text };

/** Bodies of the token POSTs, by kind (rest-api 5). */
export const tokenRequests: Readonly<Record<string, JsonObject>> = {
  user: { type: 'object', required: ['name', 'validFor'], properties: { name: text, groups: textList, validFor } },
  zone: { type: 'object', required: ['zone'], properties: { zone: text, scope: textList, validFor } },
  dataplane: {
    type: 'object',
    required: ['mesh'],
    properties: { name: text, mesh: text, tags: object, type: text, workload: text, validFor },
  },
};

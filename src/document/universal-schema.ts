// The JSON Schema of a resource in Universal form, from the schema of its spec. Pure.
import { specJsonSchema } from '../validation/spec-json-schema.ts';
import { isServiceType, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';

const text: JsonObject = { type: 'string' };
const time: JsonObject = { type: 'string', format: 'date-time' };
const object: JsonObject = { type: 'object' };

/** The schema of what `toUniversal` prints and `readUniversal` reads. */
export function universalSchema(info: TypeInfo): JsonObject {
  const isFlat = info.codec.kind === 'proto';
  const isInMesh = info.scope === 'Mesh';
  const spec = specJsonSchema(info.name);
  return {
    type: 'object',
    title: info.singular,
    required: ['type', ...(isInMesh ? ['mesh'] : []), 'name', ...(isFlat ? [] : ['spec'])],
    properties: {
      ...(isFlat && spec !== null && (spec['properties'] as JsonObject)),
      type: { const: info.name },
      ...(isInMesh && { mesh: text }),
      name: text,
      labels: { type: 'object', additionalProperties: text },
      creationTime: { ...time, readOnly: true },
      modificationTime: { ...time, readOnly: true },
      ...(info.shortName !== null && { kri: { ...text, readOnly: true } }),
      ...(isServiceType(info.name) && { snis: { type: 'array', readOnly: true, items: object } }),
      ...(!isFlat && { spec: spec === null ? object : embedded(info.name, spec) }),
      ...(info.hasStatus && { status: { ...object, readOnly: true } }),
    },
  };
}

/** Embeds a schema, with its internal references. */
function embedded(type: string, { $schema: _dialect, ...schema }: JsonObject): JsonObject {
  return { $id: `urn:meridian:spec:${type}`, ...schema };
}

// The spec of a type as JSON Schema, for OpenAPI and `meridian explain`: one of a zod schema, or one of a protobuf message.
import { z } from 'zod';
import { findType } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { messageJsonSchema } from './message-schema.ts';
import { specDefinitions } from './schemas.ts';

const schemas = new Map<string, JsonObject | null>();

/**
 * JSON Schema (draft 2020-12) of a type's spec; null for the Gateway API types, whose documents describe it, and for names that no
 * type has. Rules between fields are not in it: `checkSpec` alone decides.
 */
export function specJsonSchema(type: string): JsonObject | null {
  const ready = schemas.get(type);
  if (ready !== undefined) return ready;
  const schema = makeSchema(type);
  schemas.set(type, schema);
  return schema;
}

function makeSchema(type: string): JsonObject | null {
  const info = findType(type);
  if (info?.codec.kind === 'proto') return messageJsonSchema(info.codec.message);
  const definition = specDefinitions.get(type);
  if (definition === undefined) return null;
  return JSON.parse(JSON.stringify(z.toJSONSchema(definition.schema, { io: 'input' }))) as JsonObject;
}

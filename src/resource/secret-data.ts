// The content of a Secret or a GlobalSecret: a text, in base64 in its spec. A wrong shape reads as an empty one.
import type { Violation } from '../base/violations.ts';
import { objectOf, textOf } from './read-json.ts';
import type { JsonObject, Resource } from './types.ts';

/** The spec of a Secret with this text. */
export function secretSpec(text: string): JsonObject {
  return { data: Buffer.from(text).toString('base64') };
}

/** The violations of a spec that a person writes: without data it would empty a stored secret. */
export function writtenSecretViolations({ data = null }: JsonObject): Violation[] {
  return data === null ? [{ field: 'data', reason: 'must be given: the secret in base64' }] : [];
}

/** The text in a Secret; `''` for one without text. */
export function secretText({ spec }: Pick<Resource, 'spec'>): string {
  return Buffer.from(textOf(spec['data']), 'base64').toString('utf8');
}

/** The JSON object in a Secret; an empty one for another text. */
export function secretObject(secret: Pick<Resource, 'spec'>): JsonObject {
  try {
    return objectOf(JSON.parse(secretText(secret)));
  } catch {
    return {};
  }
}

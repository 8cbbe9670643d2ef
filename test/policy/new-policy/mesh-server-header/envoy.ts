import type { JsonObject } from '../../../../src/resource/types.ts';
import type { ServerHeader } from './spec.ts';

/** Without a policy Envoy overwrites the header. */
export function serverHeader({ mode = 'Overwrite' }: ServerHeader): JsonObject {
  return mode === 'PassThrough' ? { serverHeaderTransformation: 'PASS_THROUGH' } : {};
}

// What every write of a spec goes through: Gateway API routes are checked by their own reader, all other types by their schema.
import type { CheckSpec } from '../api/resource-draft.ts';
import { checkRoute, GATEWAY_TYPES } from '../gateway-api/stored-document.ts';
import { checkSpec as checkBySchema } from '../resource/schema/check-spec.ts';

/** The plug of `ApiOptions.checkSpec`. A Gateway API route is as strict on PUT as on apply: nothing of it may be dropped (D24). */
export const checkSpec: CheckSpec = (info, resource, options) =>
  GATEWAY_TYPES.has(info.name)
    ? { violations: checkRoute({ type: info.name, ...resource }), warnings: [] }
    : checkBySchema(info, resource, options);

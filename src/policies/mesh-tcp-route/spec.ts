// MeshTCPRoute (policies 2.5): where connections to a service go. Without a rule they go to the service itself.
import { z } from 'zod';
import { proxyRef } from '../../schema/policy-frame.ts';
import { ROUTE_TO_KINDS, ROUTED_SERVICE, ROUTED_TO } from '../../schema/route-frame.ts';
import { backendRef, targetRef } from '../../schema/target-ref.ts';

const conf = z.object({ backendRefs: z.array(backendRef({})).min(1).describe('Where the connections go, shared by weight.') });
/** The rule of an item. */
export const meshTCPRouteRule = z.object({ default: conf.describe('What is done with the connections.') });

export const meshTCPRouteSpec = z.object({
  targetRef: proxyRef(),
  to: z
    .array(
      z.object({
        targetRef: targetRef(...ROUTE_TO_KINDS).describe(ROUTED_SERVICE),
        rules: z
          .array(meshTCPRouteRule)
          .max(1)
          .describe('One rule for all connections. Without it they go to the service itself.'),
      }),
    )
    .min(1)
    .describe(ROUTED_TO)
    .optional(),
});

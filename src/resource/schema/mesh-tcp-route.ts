// MeshTCPRoute (policies 2.5): where connections to a service go. Without a rule they go to the service itself.
import { z } from 'zod';
import { proxyRef } from './policy-frame.ts';
import { ROUTE_TO_KINDS } from './route-frame.ts';
import { backendRef, targetRef } from './target-ref.ts';

const rule = z.object({ default: z.object({ backendRefs: z.array(backendRef()).min(1) }) });

export const meshTCPRouteSpec = z.object({
  targetRef: proxyRef(),
  to: z
    .array(z.object({ targetRef: targetRef(...ROUTE_TO_KINDS), rules: z.array(rule).max(1) }))
    .min(1)
    .optional(),
});

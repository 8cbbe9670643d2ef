// MeshTrace: where a proxy sends its spans.
import { checkProxyPolicy } from '../../schema/policy-frame.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { meshTraceSpec } from './spec.ts';

export const meshTrace: PolicyDefinition<never> = {
  schema: meshTraceSpec,
  check: checkProxyPolicy,
};

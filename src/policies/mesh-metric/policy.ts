// MeshMetric: which metrics a proxy shows, and where.
import { checkProxyPolicy } from '../../schema/policy-frame.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { meshMetricSpec } from './spec.ts';

export const meshMetric: PolicyDefinition<never> = {
  schema: meshMetricSpec,
  check: checkProxyPolicy,
};

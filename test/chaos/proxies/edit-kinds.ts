// All kinds of edits of a mesh that is edited at random.
import { editsOfDataplanes } from './edits-of-dataplanes.ts';
import { editsOfPolicies } from './edits-of-policies.ts';
import { editsOfRoutes } from './edits-of-routes.ts';
import type { Kept } from './kept-connections.ts';
import type { PolicyAims } from './policy-aims.ts';

export type EditKind = keyof (ReturnType<typeof editsOfDataplanes> &
  ReturnType<typeof editsOfPolicies> &
  ReturnType<typeof editsOfRoutes>);
/** @returns the kept connections that pass where it has edited */
export type Edit = () => Promise<readonly Kept[]>;

/** @param metricsPort free on all addresses of proxies */
export function editsOf(aims: PolicyAims, metricsPort: number): Readonly<Record<EditKind, Edit>> {
  return { ...editsOfDataplanes(aims), ...editsOfPolicies(aims, metricsPort), ...editsOfRoutes(aims) };
}

// Converts `-l team=a,tier!=db`, `--zone east` and `-n shop` to filters of the server (rest-api 2.2: exact labels, one value for each key) and a
// filter for the rest. Pure. Invariant: both together are the whole selector.
import { label } from '../../resource/labels.ts';
import type { Labels } from '../../resource/types.ts';
import { meets, parseRequirements, type LabelRequirement } from './label-requirements.ts';

type Chosen = {
  /** One text for each `-l`; all must hold. */
  readonly selector?: readonly string[] | undefined;
  readonly zone?: string | undefined;
  readonly namespace?: string | undefined;
};

export type Selection = {
  /** The query of a list: `filter[labels.<key>]=<value>`. */
  readonly filter: Record<string, string>;
  /** The rest of the selector, applied to the labels of a resource; null if the server filters everything. */
  readonly matches: ((labels: Labels) => boolean) | null;
};

/** @throws UsageError that shows the position of the error in a selector and the allowed syntax */
export function selectionOf(chosen: Chosen): Selection {
  const { filter, rest } = divide(chosen);
  return { filter, matches: rest.length === 0 ? null : (labels) => rest.every((requirement) => meets(labels, requirement)) };
}

/** Divides the selector: the server filters by the first equality of each key. */
function divide({ selector = [], zone, namespace }: Chosen): { filter: Record<string, string>; rest: LabelRequirement[] } {
  const ofPlace = Object.entries({ [label.zone]: zone, [label.namespace]: namespace }).flatMap(
    ([key, value]): LabelRequirement[] => (value === undefined ? [] : [{ key, operator: 'in', values: [value] }]),
  );
  const filter: Record<string, string> = {};
  const rest: LabelRequirement[] = [];
  for (const requirement of [...ofPlace, ...selector.flatMap(parseRequirements)]) {
    const name = `filter[labels.${requirement.key}]`;
    const [value, ...others] = requirement.operator === 'in' ? requirement.values : [];
    if (value === undefined || others.length > 0) rest.push(requirement);
    else if (filter[name] === undefined) filter[name] = value;
    else if (filter[name] !== value) rest.push(requirement);
  }
  return { filter, rest };
}

// A part of a resource that could not become configuration, with the field that is the cause.
import type { Contribution } from '../policy/resource-rules.ts';
import { isObject } from '../resource/read-json.ts';
import type { ConfSection } from '../validation/check-conf.ts';
import type { Json } from '../resource/types.ts';

export type ConfigProblem = {
  /** KRI of the policy that caused it; null: the Dataplane itself. */
  readonly policy: string | null;
  /** Of the policy (`spec.to[0].default.backends`) or of the Dataplane (`networking.outbound[0].backendRef`). */
  readonly field: string;
  readonly reason: string;
  /** KRI of the port of a service that has no listener for this reason. */
  readonly unlisted?: string;
};

/**
 * A problem with a value of a merged conf: the strongest policy that has the value is its cause.
 * @param contributions weakest first
 * @param path of the value in the conf; `''`: the conf itself
 */
export function problemIn(
  contributions: readonly Contribution[],
  section: ConfSection,
  path: string,
  reason: string,
): ConfigProblem {
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '');
  const givers = contributions.filter(({ conf }) => has(conf, keys));
  const cause = givers.at(-1) ?? contributions.at(-1);
  if (cause === undefined) return { policy: null, field: path, reason };
  return { policy: cause.policy.kri, field: fieldOf(section, cause.index, path), reason };
}

/** The path of a value of a conf in its policy. */
export function fieldOf(section: ConfSection, index: number, path: string): string {
  const start = section === 'default' ? 'spec.default' : `spec.${section}[${String(index)}].default`;
  return path === '' ? start : path.startsWith('[') ? start + path : `${start}.${path}`;
}

function has(value: Json, keys: readonly string[]): boolean {
  const [key, ...rest] = keys;
  if (key === undefined) return true;
  if (Array.isArray(value)) return Number(key) < value.length && has(value[Number(key)] ?? null, rest);
  return isObject(value) && Object.hasOwn(value, key) && has(value[key] ?? null, rest);
}

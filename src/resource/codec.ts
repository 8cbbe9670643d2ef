// One resource ⇄ the bytes of a KumaResource (kds-wire 1). Deterministic: equal resources give equal bytes.
import type { JsonObject, Labels } from './types.ts';
import type { TypeInfo } from './type-registry.ts';

export type WireResource = {
  readonly name: string;
  readonly mesh: string;
  readonly labels: Labels;
  readonly spec: JsonObject;
  /** Undefined: no status on the wire. */
  readonly status: JsonObject | undefined;
};

// The resources of a peer that a receiver has refused and not accepted since, by type. Invariant: a name is remembered until the peer
// sends the resource in a valid form or removes it, so the count is right for any number of them. The memory is bounded: as many names
// as the peer may have rows, and the reasons of the first of each type.
import { hash } from 'node:crypto';
import { cut } from '../../base/violations.ts';
import { nameText } from '../../resource/types.ts';
import type { NackedResource } from '../protocol/nack.ts';
import { MAX_NAMED, type NamedResources } from '../protocol/refusal-report.ts';

/** The number of resources of a type whose reasons are remembered. */
const MAX_REASONS = 1_000;
/** The largest number of characters of a name. No row has a longer one. */
const MAX_NAME = 600;
const NOT_KEPT = `more than ${String(MAX_REASONS)} resources of the type are refused, and the reasons of the first ones alone are kept`;

/** @property reason null if it is not kept */
type Refused = { readonly wireName: string; readonly reason: string | null };

type RefusedOfType = { readonly byName: Map<string, Refused>; reasons: number };

export class RefusedResources {
  readonly #most: number;
  readonly #types = new Map<string, RefusedOfType>();
  #size = 0;

  /** @param most the number of names of all types together; further ones do not count */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Notes the outcome of one response. The cost is that of the response.
   * @param seen `nameText` of the resources that the response names and that are not refused; some may be refused as well
   * @returns what is refused now of the type
   */
  note(type: string, seen: Iterable<string>, refusals: readonly NackedResource[]): NamedResources {
    const before = this.#types.get(type);
    if (before === undefined && refusals.length === 0) return { count: 0, first: [], reason: null };
    const known = before ?? { byName: new Map<string, Refused>(), reasons: 0 };
    for (const text of seen) this.#delete(known, keyOf(text));
    for (const refusal of refusals) this.#set(known, keyOf(nameText(refusal)), refusal);
    if (known.byName.size === 0) this.#types.delete(type);
    else this.#types.set(type, known);
    return reportOf(known.byName);
  }

  #set(known: RefusedOfType, key: string, { name, mesh, reason }: NackedResource): void {
    const before = known.byName.get(key);
    if (before === undefined && this.#size >= this.#most) return;
    if (before === undefined) this.#size += 1;
    else if (before.reason !== null) known.reasons -= 1;
    const isKept = known.reasons < MAX_REASONS;
    if (isKept) known.reasons += 1;
    known.byName.set(key, { wireName: shown(`${name}.${mesh}`), reason: isKept ? copyOf(reason) : null });
  }

  #delete(known: RefusedOfType, key: string): void {
    const before = known.byName.get(key);
    if (before === undefined) return;
    known.byName.delete(key);
    this.#size -= 1;
    if (before.reason !== null) known.reasons -= 1;
  }
}

/** A peer may send names of any length. */
function keyOf(text: string): string {
  return text.length <= MAX_NAME ? text : hash('sha256', text);
}

function shown(wireName: string): string {
  return wireName.length <= MAX_NAME ? wireName : copyOf(cut(wireName, MAX_NAME));
}

/** A part of a long text keeps the whole of it in memory. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

function reportOf(byName: ReadonlyMap<string, Refused>): NamedResources {
  const first: string[] = [];
  for (const { wireName } of byName.values()) if (first.push(wireName) === MAX_NAMED) break;
  const [one] = byName.values();
  return { count: byName.size, first, reason: one === undefined ? null : (one.reason ?? NOT_KEPT) };
}

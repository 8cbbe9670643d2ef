// The names of a proxy as its launcher has them: what the zone says, and what is answered. Pure. Invariant: a name is answered after all
// listeners behind it have listened once, and with its last answer until the next one can be given.
import { isObject, objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

/** A name as the zone says it. */
export type NameRecord = {
  readonly version: string;
  /** IPv4 or IPv6, as text. */
  readonly addresses: readonly string[];
  /** Names of the listeners behind it in Envoy. */
  readonly places: readonly string[];
};

export class NameRecords {
  readonly #records = new Map<string, NameRecord>();
  readonly #answers = new Map<string, readonly string[]>();
  /** Hostnames whose answer is not that of their record. */
  readonly #waiting = new Set<string>();

  /** The addresses of a name; undefined for one that is not known or leads nowhere yet. @param hostname in lower case, without a dot at its end */
  lookup(hostname: string): readonly string[] | undefined {
    return this.#answers.get(hostname);
  }

  /** Hostnames with the versions of their records. */
  get versions(): ReadonlyMap<string, string> {
    return new Map([...this.#records].map(([hostname, { version }]) => [hostname, version]));
  }

  /** How many names are answered. */
  get size(): number {
    return this.#answers.size;
  }

  /** Names that wait for listeners. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** Takes a difference from the zone. */
  apply(put: Iterable<readonly [hostname: string, record: NameRecord]>, removed: Iterable<string>): void {
    for (const hostname of removed) {
      for (const map of [this.#records, this.#answers]) map.delete(hostname);
      this.#waiting.delete(hostname);
    }
    for (const [hostname, record] of put) {
      this.#records.set(hostname, record);
      if (isSame(this.#answers.get(hostname), record.addresses)) this.#waiting.delete(hostname);
      else this.#waiting.add(hostname);
    }
  }

  /**
   * Answers the names whose listeners all listen.
   * @param places names of the listeners that take connections now
   * @returns whether there was one
   */
  open(places: ReadonlySet<string>): boolean {
    const ready = [...this.#waiting].filter((hostname) =>
      (this.#records.get(hostname)?.places ?? []).every((place) => places.has(place)),
    );
    for (const hostname of ready) {
      this.#answers.set(hostname, this.#records.get(hostname)?.addresses ?? []);
      this.#waiting.delete(hostname);
    }
    return ready.length > 0;
  }

  /** What a later launcher of the proxy begins with. */
  toJson(): JsonObject {
    const names = [...this.#records].map(([hostname, { version, addresses, places }]) => {
      const answer = this.#answers.get(hostname);
      const record = { version, addresses: [...addresses], places: [...places] };
      return [hostname, answer === undefined ? record : { ...record, answer: [...answer] }] as const;
    });
    return { names: Object.fromEntries(names) };
  }

  /** @param json as `toJson` gives it; what has another form is left out */
  static fromJson(json: unknown): NameRecords {
    const made = new NameRecords();
    for (const [hostname, record] of Object.entries(objectOf(isObject(json) ? json['names'] : undefined))) {
      const { version, addresses, places, answer } = objectOf(record);
      if (textOf(version) === '') continue;
      if (Array.isArray(answer)) made.#answers.set(hostname, textsOf(answer));
      made.apply([[hostname, { version: textOf(version), addresses: textsOf(addresses), places: textsOf(places) }]], []);
    }
    return made;
  }
}

function isSame(one: readonly string[] | undefined, other: readonly string[]): boolean {
  return one?.length === other.length && one.every((address, at) => address === other[at]);
}

function textsOf(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((text) => typeof text === 'string') : [];
}

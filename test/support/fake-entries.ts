// Fake entries, their log, and a peer that subscribes to it, for tests of only the sync logic.
// Invariant: the bytes of an entry are `[name, version]`; a name that begins with «odd» exists only in the native form.
import type { Encoding, Entry, PeerView } from '../../src/kds/log/entry.ts';
import type { Draft } from '../../src/kds/sender/response-draft.ts';
import { Subscription, type SubscriptionOptions } from '../../src/kds/sender/subscription.ts';
import type { TypeLog } from '../../src/kds/log/type-log.ts';

const EVERYBODY = { to: 'all' } as const;

/** An entry with a name that can be read without a form. */
type FakeEntry = Entry & Encoding;

function entry(name: string, version: string): FakeEntry {
  const bytes = Buffer.from(JSON.stringify([name, version]));
  const encoding: Encoding = { version, bytes };
  return {
    visibility: EVERYBODY,
    version,
    bytes,
    in(form) {
      if (form === 'native') return encoding;
      return name.startsWith('odd') ? { withheld: `the peer cannot read ${version}` } : { version: `p${version}`, bytes };
    },
  };
}

/** Writes a resource into the slot of `key`; `plainName` is its name without a hash. */
export function put(log: TypeLog, name: string, version: string, key = name, plainName = `plain-${name}`): void {
  log.append({ key, wireName: name, plainName }, entry(name, version));
}

export function remove(log: TypeLog, key: string): void {
  const slot = log.find(key);
  if (slot !== undefined) log.tombstone(slot);
}

/** By default a Meridian peer that has nothing, sees everything and accepts 1,000 bytes. */
export function subscribe(log: TypeLog, options: Partial<PeerView & SubscriptionOptions> = {}): Subscription {
  const { canSee = () => true, form = 'native', largestBytes = 1000, known = null, chunkBytes = () => 1_000_000 } = options;
  return new Subscription(log, { canSee, form, largestBytes }, { known, chunkBytes });
}

export function read(bytes: Uint8Array): { name: string; version: string } {
  const [name, version] = JSON.parse(Buffer.from(bytes).toString()) as [string, string];
  return { name, version };
}

export function namesOf(draft: Draft | null): string[] {
  return (draft?.entries ?? []).map((bytes) => read(bytes).name);
}

/** The name of an entry that `put` made. */
export function nameOf(given: Entry): string {
  return read((given as FakeEntry).bytes).name;
}

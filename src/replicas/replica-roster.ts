// The live replicas of this control plane, their leader, and the number of zones that each serves. Each replica sends a mark
// through the change feed: at its start, when it begins or ceases to lead, at a fixed interval, and at its end. Invariants:
// nothing is stored; a killed replica stays listed as silent for an hour; the number of known replicas is bounded.
import { every, type Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { together } from '../base/supervise.ts';
import { isObject, textOf } from '../resource/read-json.ts';
import { FeedFollower, type Following } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';

const MARK = /^replica ([\w-]+)$/;
/** Milliseconds between two marks of a replica. */
export const BEAT_MS = 30_000;
/** The interval of the marks of a replica that shares its zones with others, in milliseconds: they must notice its end soon. */
export const SHARING_BEAT_MS = 5_000;
/** Milliseconds without a mark after which a replica has no share of the zones. */
export const NO_SHARE_MS = 7_500;
/** Milliseconds without a mark after which a replica counts as gone. */
export const SILENT_MS = 100_000;
/** Milliseconds after which a silent replica is forgotten. */
const FORGET_MS = 3_600_000;
const MAX_REPLICAS = 200;
/** Milliseconds that the last mark may take. */
const END_MS = 1_000;

export type Replica = {
  readonly instanceId: string;
  readonly version: string;
  readonly isLeader: boolean;
  /** The time at which it began or ceased to lead, or started, in ISO 8601 by its own clock. */
  readonly since: string;
  /** The number of zones with a stream to it; null for a replica that does not share zones. */
  readonly zones: number | null;
  /** Whether it stops, and takes no more zones. */
  readonly isDraining: boolean;
  /** The time at which its last mark arrived here. */
  readonly lastSeen: Date;
};

/** The others answer `new`. A replica that stops sends `end`. */
type Kind = 'new' | 'here' | 'end';
type Message = Omit<Replica, 'lastSeen'> & { readonly kind: Kind };

export type RosterOptions = Following & {
  readonly store: Pick<ResourceStore, 'changes' | 'mark'>;
  readonly instanceId: string;
  readonly version: string;
  /** The default is `BEAT_MS`. */
  readonly beatMs?: number;
};

export class ReplicaRoster {
  readonly #options: RosterOptions;
  readonly #replicas = new Map<string, Replica>();
  /** The time at which the last mark of each arrived, in milliseconds of `elapsed`: the date may be set. */
  readonly #heardAt = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #isLeader = false;
  #since: Date;
  #zones: number | null = null;
  #isDraining = false;
  /** It is true when the last mark is due: no mark follows, also if the replica ceases to lead later. */
  #hasEnded = false;
  /** Marks on their way to the database. */
  readonly #sending = new Set<Promise<void>>();

  constructor(options: RosterOptions) {
    this.#options = options;
    this.#since = options.clock.now();
    this.#note(this.#message('new'));
  }

  /** The known replicas by their id, this one included. */
  replicas(): Replica[] {
    for (const { instanceId } of this.#replicas.values()) if (this.#silentMs(instanceId) > FORGET_MS) this.#forget(instanceId);
    return [...this.#replicas.values()].sort((a, b) => (a.instanceId < b.instanceId ? -1 : 1));
  }

  /** The replicas that take zones now, with the number of zones of each. This one is among them once it has said its number. */
  sharers(): { readonly instanceId: string; readonly zones: number }[] {
    return this.replicas().flatMap(({ instanceId, zones, isDraining }) =>
      zones === null || isDraining || this.#silentMs(instanceId) > NO_SHARE_MS ? [] : [{ instanceId, zones }],
    );
  }

  /** Whether a replica has not been heard of for too long. */
  isSilent({ instanceId }: Pick<Replica, 'instanceId'>): boolean {
    return this.#silentMs(instanceId) > SILENT_MS;
  }

  /** Milliseconds since the last mark of a replica; 0 for this one, which hears itself. */
  #silentMs(instanceId: string): number {
    const now = this.#clock.elapsed();
    return instanceId === this.#options.instanceId ? 0 : now - (this.#heardAt.get(instanceId) ?? now);
  }

  #forget(instanceId: string): void {
    this.#replicas.delete(instanceId);
    this.#heardAt.delete(instanceId);
  }

  /** Calls back when a replica comes, goes, leads, or ceases to lead. Returns a function that stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Says whether this replica leads; never throws, never waits. */
  setLeader(isLeader: boolean): void {
    if (this.#isLeader === isLeader) return;
    this.#isLeader = isLeader;
    this.#since = this.#clock.now();
    this.#say();
  }

  /** Says how many zones this replica serves; never throws, never waits. */
  setZones(zones: number): void {
    if (this.#zones === zones) return;
    this.#zones = zones;
    this.#say();
  }

  /** Says that this replica stops and takes no more zones. Resolves when it is said; never rejects. */
  async setDraining(): Promise<void> {
    this.#isDraining = true;
    this.#note(this.#message('here'));
    await this.#inTime(this.#send('here'));
  }

  /** Sends and receives marks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#options;
    const follower = new FeedFollower({ store, clock, log, types: [], isMark: (id) => MARK.test(id) });
    let isFollowed = false;
    await together(
      signal,
      (either) =>
        follower.run(async ({ all, marks }) => {
          // The answers come through the feed, which must be followed before.
          if (all || !isFollowed) await this.#send('new');
          isFollowed = true;
          for (const mark of marks) await this.#take(mark);
        }, either),
      (either) =>
        every(clock, this.#options.beatMs ?? BEAT_MS, either, async () => {
          this.#note(this.#message('here'));
          await this.#send('here');
        }),
    );
    this.#hasEnded = true;
    // Marks of two connections can change places.
    await this.#inTime(Promise.all(this.#sending).then(() => this.#send('end')));
  }

  /** A stop does not wait for a database that does not answer. */
  async #inTime(sent: Promise<void>): Promise<void> {
    await Promise.race([sent, this.#clock.sleep(END_MS, undefined, { ref: false })]);
  }

  get #clock(): Clock {
    return this.#options.clock;
  }

  #message(kind: Kind): Message {
    const { instanceId, version } = this.#options;
    const since = this.#since.toISOString();
    return { kind, instanceId, version, isLeader: this.#isLeader, since, zones: this.#zones, isDraining: this.#isDraining };
  }

  #say(): void {
    this.#note(this.#message('here'));
    void this.#send('here');
  }

  async #take(mark: string): Promise<void> {
    const message = messageIn(mark);
    if (message === null || message.instanceId === this.#options.instanceId) return;
    this.#note(message);
    if (message.kind === 'new') await this.#send('here');
  }

  #note({ kind, ...replica }: Message): void {
    const before = this.#replicas.get(replica.instanceId);
    if (kind === 'end') this.#forget(replica.instanceId);
    else if (before !== undefined || this.#replicas.size < MAX_REPLICAS) {
      this.#replicas.set(replica.instanceId, { ...replica, lastSeen: this.#clock.now() });
      this.#heardAt.set(replica.instanceId, this.#clock.elapsed());
    }
    const after = this.#replicas.get(replica.instanceId);
    if (before?.isLeader === after?.isLeader && before?.version === after?.version && before?.since === after?.since) return;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Never rejects: the next mark says the same. */
  async #send(kind: Kind): Promise<void> {
    if (this.#hasEnded && kind !== 'end') return;
    const { store, log } = this.#options;
    const text = Buffer.from(JSON.stringify(this.#message(kind))).toString('base64url');
    const sent = store
      .mark(`replica ${text}`)
      .catch((error: unknown) => log.debug({ reason: messageOf(error) }, 'this replica could not report itself to the others'));
    this.#sending.add(sent);
    await sent;
    this.#sending.delete(sent);
  }
}

function messageIn(mark: string): Message | null {
  const [, text = ''] = MARK.exec(mark) ?? [];
  try {
    const message: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!isObject(message)) return null;
    const { kind, instanceId, version, isLeader, since, zones, isDraining } = message;
    if (textOf(instanceId) === '' || (kind !== 'new' && kind !== 'here' && kind !== 'end')) return null;
    return {
      ...{ kind, instanceId: textOf(instanceId), version: textOf(version), isLeader: isLeader === true, since: textOf(since) },
      zones: typeof zones === 'number' && Number.isInteger(zones) && zones >= 0 ? zones : null,
      isDraining: isDraining === true,
    };
  } catch {
    return null;
  }
}

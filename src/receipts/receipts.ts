// The receipts of the changes that this control plane sends: the zones that have a change, the time since which they have it, and
// the reason why the others lack it. On global the peers are its zones; in a zone the only peer is global. Each replica knows its
// own streams, and asks the others about theirs. Invariants: an acknowledgement costs one stored time; a wait has a limit; a zone
// of unknown state is named.
import type { Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import { TimeSlices } from '../base/time-slices.ts';
import { isVisibleTo, type ProfileOf } from '../kds/protocol/rules.ts';
import type { Changelog } from '../kds/log/changelog.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { isOpen, subscriptionsOf } from '../resource/online-status.ts';
import { textOf } from '../resource/read-json.ts';
import type { ResourceKey } from '../resource/types.ts';
import { isMember } from '../resource/zone-profile.ts';
import type { ReplicaQuestions } from '../replicas/replica-questions.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { Change } from './kept-change.ts';
import type { DeliveryOfChange } from '../kds/sender/delivery.ts';
import { RecentChanges, type Logged } from './recent-changes.ts';
import { ReceiptQuestions, type Answers } from './receipt-questions.ts';
import { noZones, tallyOfConnected, TallyQuestions, type TalliedChange, type ZonesTally } from './tally-questions.ts';

/** The number of requests that wait for acknowledgements at the same time. */
const MAX_WAITING = 256;
/** The milliseconds for which the number of peers is kept. */
const AUDIENCE_MS = 1_000;
/** The peer of a zone. */
export const GLOBAL = 'global';

/** The peers that should have the changes. */
export type Peers = { readonly names: () => readonly string[]; readonly profileOf: ProfileOf };

/** The state of a change at a peer, as this replica knows it. */
type Here = DeliveryOfChange & { readonly to: string };

/** `unknown`: the zone is connected to another replica, which did not answer. */
export type Target = Omit<DeliveryOfChange, 'state'> & {
  readonly to: string;
  readonly state: DeliveryOfChange['state'] | 'unknown';
};

/** @property change is null where the change is no longer kept, or the resource is not in the log */
export type Followed<T = Target> = { readonly change: Change | null; readonly isLogged: boolean; readonly targets: readonly T[] };

/** @property elsewhere the answers of zones that are connected to other replicas */
export type ListedChange = { readonly change: Change; readonly targets: readonly Target[]; readonly elsewhere: ZonesTally };

export type Asked = {
  /** The change with at least this version of the row; null for the newest. */
  readonly version: number | null;
  /** The milliseconds to wait for the acknowledgements of connected peers. */
  readonly waitMs: number;
};

export type ReceiptsOptions = {
  readonly mode: 'global' | 'zone';
  readonly store: Pick<ResourceStore, 'getMany'>;
  readonly questions: ReplicaQuestions;
  /** The id of this process in the subscriptions of ZoneInsights. */
  readonly instanceId: string;
  readonly clock: Clock;
};

/** The peers by name, and the number of them that fit the conditions of an audience, as text. */
type Audience = {
  readonly peers: Peers | null;
  readonly until: number;
  readonly names: ReadonlySet<string>;
  readonly byConditions: Map<string, number>;
};

type Serving = { readonly changelog: Changelog; readonly peers: Peers };

export class Receipts {
  readonly changes: RecentChanges;
  readonly #options: ReceiptsOptions;
  readonly #questions: ReceiptQuestions;
  readonly #tallies: TallyQuestions;
  readonly #waiting = new Set<() => void>();
  /** The lists of all callers run here: they delay each other, and not the sync. */
  readonly #slices: TimeSlices;
  #serving: Serving | null = null;
  #wakes = false;
  #audience: Audience = { peers: null, until: 0, names: new Set(), byConditions: new Map() };

  constructor(options: ReceiptsOptions) {
    this.#options = options;
    const { mode, questions, instanceId, clock } = options;
    this.#slices = new TimeSlices(clock);
    this.changes = new RecentChanges(mode === 'global' ? 'globalToZone' : 'zoneToGlobal');
    this.#questions = new ReceiptQuestions(questions, async (question, signal) => {
      if (this.#serving === null) return new Map();
      const { isLogged, targets } = await this.#followHere(this.#serving, question, question, signal);
      return isLogged ? new Map(targets.map(({ to, ...delivery }) => [to, delivery])) : null;
    });
    const count = async ({ version, ...key }: TalliedChange): Promise<ZonesTally> => {
      const what = this.changes.ofRow(key, version) ?? (this.#serving === null ? null : loggedOf(key, this.#serving.changelog));
      return await this.#slices.run(() => tallyOfConnected(this.changes, what));
    };
    const caughtUp = async (): Promise<void> => await this.#serving?.changelog.caughtUp();
    this.#tallies = new TallyQuestions({ questions, instanceId, caughtUp, count });
  }

  /**
   * The tallies of changes over the zones that are connected to these other replicas, in the order of the changes. Rejects when the store does
   * not answer.
   */
  async talliesAt(replicas: ReadonlySet<string>, changes: readonly Change[], signal: AbortSignal): Promise<ZonesTally[]> {
    return await this.#tallies.of(replicas, changes, signal);
  }

  /** Records an event of a stream; never throws, never waits. */
  observe(event: SyncEvent): void {
    const { mode, clock } = this.#options;
    // At both ends of a stream the peer has the name of the zone.
    const seen = mode === 'zone' && event.peer !== GLOBAL ? { ...event, peer: GLOBAL } : event;
    if (this.changes.observe(seen, clock.now().getTime())) this.#wake();
  }

  /** Follows the log whose changes these peers get. Returns a function that stops it. */
  serve(changelog: Changelog, peers: Peers): () => void {
    const serving = { changelog, peers };
    this.#serving = serving;
    this.changes.profileOf = peers.profileOf;
    const stops = [
      changelog.onChange((change) => void this.changes.append(change, this.#options.clock.now().getTime())),
      changelog.onMove((move) => this.changes.move(move)),
    ];
    return () => {
      for (const stop of stops) stop();
      if (this.#serving === serving) this.#serving = null;
    };
  }

  /** It is true when this process sends changes; in a zone only the leader does. */
  get isServing(): boolean {
    return this.#serving !== null;
  }

  /**
   * The state of the newest change of a row at each peer, also when it was removed. It includes every write that was committed
   * before the call.
   * @throws MeridianError `unavailable` when the store does not answer, too many requests wait, or no replica has a stream
   */
  async follow(key: ResourceKey, asked: Asked, signal: AbortSignal): Promise<Followed> {
    const serving = this.#serving;
    if (serving === null) return await this.#followElsewhere(key, asked, signal);
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    const elsewhere = this.#askOthers(serving, key, asked, either);
    try {
      const [here, others] = await Promise.all([this.#followHere(serving, key, asked, either), elsewhere]);
      return { ...here, targets: here.targets.map((target) => merged(target, others)) };
    } finally {
      ended.abort();
      await elsewhere.catch(() => undefined);
    }
  }

  /** The name of a row on the wire: `<name>.<mesh>`. Undefined if it is neither in the log nor among the kept changes. */
  wireNameOf(key: ResourceKey): string | undefined {
    if (this.#serving === null) return undefined;
    return (this.changes.ofRow(key) ?? loggedOf(key, this.#serving.changelog))?.wireName;
  }

  /** The present state of a kept change, as far as this replica knows. */
  targetsOf(change: Change): readonly Target[] {
    return this.#serving === null ? [] : this.#targets(this.#serving, change);
  }

  /**
   * The present state of a kept change, with the answers of other replicas for the zones that are connected there. Of a removal
   * these answer for the newest change. Rejects when the store does not answer.
   */
  async targetsEverywhere(change: Change, signal: AbortSignal): Promise<readonly Target[]> {
    const serving = this.#serving;
    if (serving === null) return [];
    const others = await this.#askOthers(serving, change, { version: change.version, waitMs: 0 }, signal);
    return this.#targets(serving, change).map((target) => merged(target, others));
  }

  /**
   * The states of several changes, one after the other: with ten thousand zones each has as many targets. Of the zones that are
   * connected to other replicas only the number is known: their state is `unknown`, and `elsewhere` counts those that have
   * answered. It ends early when the signal aborts. Rejects when the store does not answer.
   */
  async *listTargets(changes: readonly Change[], signal: AbortSignal): AsyncGenerator<ListedChange> {
    const serving = this.#serving;
    if (serving === null || changes.length === 0) return;
    const elsewhere = await this.#connectedElsewhere(serving.peers);
    const replicas = new Set(elsewhere.values());
    const tallies = await this.talliesAt(replicas, changes, signal);
    // A zone that is connected elsewhere is counted there, also if it has answered here before.
    const targetsOf = (change: Change): Target[] =>
      this.#targets(serving, change).map((target) =>
        target.state !== 'hidden' && elsewhere.has(target.to) ? unknownTarget(target.to) : target,
      );
    for (const [index, change] of changes.entries()) {
      if (signal.aborted) return;
      const targets = await this.#slices.run(() => targetsOf(change));
      yield { change, targets, elsewhere: tallies[index] ?? noZones() };
    }
  }

  /** The number of peers of this control plane; 0 where it sends no changes. */
  get peerCount(): number {
    return this.#serving === null ? 0 : this.#knownAudience(this.#serving.peers).names.size;
  }

  /** Finds the last kept version of a row that a zone has confirmed to this process; in a zone it is that of global. */
  confirmedOf(row: ResourceKey): (zone: string) => { readonly version: number; readonly at: Date } | undefined {
    const lastOf = this.changes.lastConfirmed(row);
    return (zone) => {
      const found = lastOf(this.#options.mode === 'zone' ? GLOBAL : zone);
      return found === null || found.version === null ? undefined : { version: found.version, at: found.at };
    };
  }

  /**
   * The number of peers that should have a change: those that may see it. A peer whose features are unknown counts. A new peer
   * counts after a second at the latest.
   */
  audienceOf({ visibility }: Pick<Change, 'visibility'>): number {
    if (this.#serving === null || visibility.to === 'none') return 0;
    const { peers } = this.#serving;
    const { names, byConditions } = this.#knownAudience(peers);
    const { feature, mesh, among, exportedTo } = visibility;
    const toAll = { to: 'all', feature, mesh, among, exportedTo } as const;
    const sees = (zone: string): boolean => {
      const features = this.changes.peers.get(zone)?.features ?? null;
      return isVisibleTo(toAll, { zone, features, profileOf: peers.profileOf });
    };
    const conditions = JSON.stringify(toAll);
    const all = byConditions.get(conditions) ?? [...names].filter(sees).length;
    byConditions.set(conditions, all);
    if (visibility.to === 'all') return all;
    const home = peers.profileOf(visibility.zone);
    if (!home.isEnabled || (mesh !== undefined && !isMember(home, mesh))) return 0;
    return names.has(visibility.zone) && sees(visibility.zone) ? all - 1 : all;
  }

  #knownAudience(peers: Peers): Audience {
    const now = this.#options.clock.elapsed();
    if (this.#audience.peers !== peers || now >= this.#audience.until)
      this.#audience = { peers, until: now + AUDIENCE_MS, names: new Set(peers.names()), byConditions: new Map() };
    return this.#audience;
  }

  async #followHere(
    serving: Serving,
    key: ResourceKey,
    { version, waitMs }: Asked,
    signal: AbortSignal,
  ): Promise<Followed<Here>> {
    const { changelog } = serving;
    await changelog.caughtUp();
    const change = this.changes.ofRow(key, version) ?? null;
    const what = change ?? loggedOf(key, changelog);
    if (what === null) return { change, isLogged: false, targets: [] };
    const open = this.#targets(serving, what).filter(isOpenTarget);
    const isDone = (): boolean => {
      // Look at the last one alone: an answer of one zone must not cost a look at ten thousand for each request that waits.
      for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
        if (isOpenTarget(this.#target(what, last.to))) return false;
        open.pop();
      }
      return true;
    };
    await this.#until(isDone, waitMs, signal);
    return { change, isLogged: true, targets: this.#targets(serving, what) };
  }

  #targets(serving: Serving, what: Change | Logged): Here[] {
    return serving.peers
      .names()
      .toSorted()
      .map((to) => this.#target(what, to));
  }

  #target(what: Change | Logged, to: string): Here {
    return { to, ...this.changes.delivery(what, to) };
  }

  /** The answers of other replicas for the zones that are connected there. */
  async #askOthers({ peers }: Serving, key: ResourceKey, asked: Asked, signal: AbortSignal): Promise<Answers> {
    const elsewhere = await this.#connectedElsewhere(peers);
    if (elsewhere.size === 0) return new Map();
    const zones = new Set(elsewhere.keys());
    const { type, mesh, name } = key;
    const answered = await this.#questions.ask({ type, mesh, name, ...asked }, zones, signal);
    return new Map([...zones].map((zone) => [zone, answered.get(zone) ?? null]));
  }

  /** The replicas that insights name, for zones without a stream to this process. */
  async #connectedElsewhere(peers: Peers): Promise<Map<string, string>> {
    const strangers = peers.names().filter((name) => (this.changes.peers.get(name)?.streams.size ?? 0) === 0);
    if (strangers.length === 0) return new Map();
    const { store, instanceId } = this.#options;
    const insights = await store.getMany(strangers.map((name) => ({ type: 'ZoneInsight', mesh: '', name })));
    const found = new Map<string, string>();
    for (const { name, spec } of insights) {
      const at = subscriptionsOf(spec).findLast((one) => isOpen(one) && textOf(one['globalInstanceId']) !== instanceId);
      if (at !== undefined) found.set(name, textOf(at['globalInstanceId']));
    }
    return found;
  }

  /** In a zone the leader has the stream to global. */
  async #followElsewhere({ type, mesh, name }: ResourceKey, asked: Asked, signal: AbortSignal): Promise<Followed> {
    const answered = await this.#questions.ask({ type, mesh, name, ...asked, unlogged: GLOBAL }, new Set([GLOBAL]), signal);
    const delivery = answered.get(GLOBAL);
    if (delivery === undefined)
      throw new MeridianError('unavailable', 'no control plane of this zone is connected to global now');
    if (delivery === null) return { change: null, isLogged: false, targets: [] };
    return { change: null, isLogged: true, targets: [{ to: GLOBAL, ...delivery }] };
  }

  /** Resolves when the condition is true, the time is over, or the signal aborts. */
  async #until(isDone: () => boolean, ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0 || isDone()) return;
    if (this.#waiting.size >= MAX_WAITING)
      throw new MeridianError(
        'unavailable',
        `${String(MAX_WAITING)} requests wait for zones already; ask again later, or without a wait`,
      );
    const done = new AbortController();
    const check = (): void => {
      if (isDone()) done.abort();
    };
    this.#waiting.add(check);
    try {
      await this.#options.clock.sleep(ms, AbortSignal.any([signal, done.signal]), { ref: false });
    } finally {
      this.#waiting.delete(check);
    }
  }

  /** Lets the waiting requests look again, once a turn of the event loop. */
  #wake(): void {
    if (this.#wakes || this.#waiting.size === 0) return;
    this.#wakes = true;
    setImmediate(() => {
      this.#wakes = false;
      for (const check of [...this.#waiting]) check();
    });
  }
}

function isOpenTarget({ state }: Here): boolean {
  return state === 'pending' || state === 'sent';
}

function loggedOf(key: ResourceKey, changelog: Changelog): Logged | null {
  const slot = changelog.slotOf(key);
  if (slot?.entry == null || slot.entry.visibility.to === 'none') return null;
  const { wireName, position, entry } = slot;
  return { type: key.type, wireName, position, visibility: entry.visibility };
}

function merged(target: Here, others: Answers): Target {
  const other = target.state === 'away' ? others.get(target.to) : undefined;
  if (other === undefined) return target;
  return other === null ? { ...target, state: 'unknown' } : { to: target.to, ...other };
}

function unknownTarget(to: string): Target {
  return { to, state: 'unknown', sentMs: null, acknowledgedMs: null, reason: null };
}

// The xDS client end of one stream: subscribes, stores each response in one transaction, answers ACK or NACK.
// Invariants: the rules decide what a peer may write, never its payload. Good resources of a response are stored even if others are
// refused. A response is committed before it is acknowledged.
import type { Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ProxyGroup } from '../resource/proxy-facts.ts';
import { nameText, type Resource, type ResourceKey } from '../resource/types.ts';
import type { FenceWatch } from '../store/fence-watch.ts';
import type { ResourceMeta, ResourceStore, WriteOutcome } from '../store/resource-store.ts';
import { countNamedInSteps, decodeDeltaResponseInSteps, encodeDeltaRequest, type DeltaResponse } from '../wire/kds-messages.ts';
import { readResponse, type Incoming, type ReadResponse, type Validate } from './incoming.ts';
import { nodeMetadata, type OwnNode } from './node.ts';
import type { SyncObserver } from './sync-events.ts';
import { atOnce, batchesOf, type Pace } from './pace.ts';
import { RowQuota, type ZoneQuotas } from './quotas.ts';
import type { InsightTurns } from './insight-turns.ts';
import { InsightsOfStream, PACED_TYPE } from './insights-of-stream.ts';
import { nackMessage, MAX_NAMED, nackedResource, writeNackDetails, type NackedResource } from './nack.ts';
import type { ReceiveRules } from './rules.ts';
import { RateLimitedLogger } from '../grpc/rate-limited-logger.ts';
import { exhausted } from '../grpc/status.ts';
import { keptMeshes } from './kept-meshes.ts';
import { planWrites, type SyncWrite, type Work } from './diff-response.ts';
import { CountedProxies } from './counted-proxies.ts';
import type { CountedType } from './proxy-counts.ts';

/** Attempts to write a row while other writers change it (kds-wire 6.2.5). */
const ATTEMPTS = 4;

/** The types of which a proxy consists. */
const PROXY_TYPES: ReadonlySet<string> = new Set<CountedType>(['Dataplane', PACED_TYPE]);

/** A type that must be received and accepted before the other types are requested (engine 14). */
export type Admission = {
  readonly type: string;
  /** Checks the full state of the type. Rejects with a MeridianError when this peer must not be trusted. */
  readonly check: (resources: readonly Incoming[]) => Promise<void>;
};

export type ReceiverOptions = {
  /** Zone name: `node.id` in both directions. */
  readonly zone: string;
  readonly peer: string;
  readonly streamId: string;
  readonly rules: ReceiveRules;
  readonly store: Pick<ResourceStore, 'getMany' | 'listMeta' | 'writeBatch' | 'acquireFencingToken'>;
  /** Reports a newer receiver of the peer. Left out, the fence holds at the next write. */
  readonly fences?: Pick<FenceWatch, 'watch'> | undefined;
  readonly node: OwnNode;
  /** The peer is Meridian: the receiver sends versions, gets differences and prunes nothing (D29). */
  readonly resume: boolean;
  /** If left out, all types are requested at once. */
  readonly admission?: Admission | null;
  readonly maxMessageBytes: number;
  /** If left out, the work is not divided. */
  readonly pace?: Pace;
  /** When insights of proxies are stored; at once if left out. */
  readonly insightTurns?: Pick<InsightTurns, 'admits' | 'count' | 'wait'> | undefined;
  /** `counts`: insights of proxies are counted and not stored. Left out, all are stored. */
  readonly insights?: 'all' | 'counts' | undefined;
  /** The quota of the peer; no limit if left out. */
  readonly quotas?: Pick<ZoneQuotas, 'rows' | 'resourceBytes'>;
  readonly validate: Validate;
  readonly send: (message: Buffer) => void;
  /** Ends the stream: a newer receiver of the peer has opened. */
  readonly fail?: (error: Error) => void;
  readonly observe: SyncObserver;
  readonly log: Logger;
  readonly clock: Clock;
};

export class Receiver {
  readonly #options: ReceiverOptions;
  /** Part of every subscription; encoded once. */
  readonly #metadata: Readonly<Record<'fullState' | 'resume', Uint8Array>>;
  readonly #types: ReadonlyMap<string, TypeInfo>;
  /**
   * Types whose full state is expected, with the names that have arrived so far. A full state may have several parts. After the last
   * part, rows without a name in it are pruned.
   */
  readonly #fullState = new Map<string, Set<string>>();
  /** The resources that are refused now, by type and stored name; at most `MAX_NAMED` of a type. */
  readonly #refused = new Map<string, Map<string, NackedResource>>();
  readonly #warnings: RateLimitedLogger;
  readonly #pace: Pace;
  readonly #rowQuota: RowQuota | null;
  /** Null if insights of proxies are stored. */
  readonly #proxies: CountedProxies | null;
  #hasReportedProxies = false;
  #admission: Admission | null;
  #epoch = 0;
  #stopWatching: () => void = () => undefined;
  readonly #insights: InsightsOfStream | null;
  #isClosed = false;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#metadata = { fullState: nodeMetadata(options.node, false), resume: nodeMetadata(options.node, true) };
    this.#types = new Map(options.rules.types.map((info) => [info.name, info]));
    this.#warnings = new RateLimitedLogger(options.log, () => options.clock.elapsed());
    this.#admission = options.admission ?? null;
    this.#pace = options.pace ?? atOnce;
    const { quotas, rules } = options;
    this.#proxies = options.insights === 'counts' ? this.#countProxies() : null;
    const count = async (): Promise<number> => (await this.#inScope(rules.types)).length;
    this.#rowQuota = quotas === undefined ? null : new RowQuota(quotas.rows, count);
    const { insightTurns: turns, resume, clock } = options;
    const isLateAnswer = options.insights === 'counts';
    const askAgain = (): void => void this.#askAgain(PACED_TYPE);
    this.#insights =
      turns === undefined
        ? null
        : new InsightsOfStream({ turns, canAskAgain: resume && !isLateAnswer, isImpatient: resume, askAgain, clock });
  }

  /** Opens the fence and sends one request per type, without waiting (kds-wire 2.2). With an admission, its type is requested first. */
  async start(): Promise<void> {
    const { peer, store, fences, fail } = this.#options;
    this.#epoch = await store.acquireFencingToken(peer);
    const text = `another stream of ${peer} has opened later and taken over; this one ends`;
    const lost = (): void => fail?.(new MeridianError('conflict', text));
    this.#stopWatching = fences?.watch({ peer, epoch: this.#epoch }, lost) ?? this.#stopWatching;
    const first = this.#types.get(this.#admission?.type ?? '');
    if (first === undefined) await this.#subscribeAll([...this.#types.values()]);
    else this.#subscribe(first, null);
  }

  /** The stream has ended. */
  close(): void {
    this.#isClosed = true;
    this.#stopWatching();
    this.#insights?.close();
  }

  /**
   * Takes the bytes of one response as `handle` does.
   * @throws Error on invalid bytes, StatusError when the response names more resources than the quota
   */
  async take(bytes: Uint8Array): Promise<void> {
    await this.#pace.beforeMessage(bytes.length);
    await this.#requireFewNames(bytes);
    await this.handle(await this.#pace.run(decodeDeltaResponseInSteps(bytes)));
  }

  /** Counts the names before any is stored in memory. */
  async #requireFewNames(bytes: Uint8Array): Promise<void> {
    const { quotas, peer, observe } = this.#options;
    if (quotas === undefined) return;
    const most = quotas.rows;
    if ((await this.#pace.run(countNamedInSteps(bytes, most))) <= most) return;
    const reason = `the response names more resources than the ${String(most)} that a zone may have; raise multizone.global.kds.quotas.rows on global`;
    observe({ kind: 'overQuota', peer, quota: 'rows', reason });
    throw exhausted(reason);
  }

  /**
   * Stores one response and answers it.
   * @throws when the store is unavailable, the fence is lost, or the type is unknown: the stream must end
   */
  async handle(response: DeltaResponse): Promise<void> {
    const info = this.#types.get(response.typeUrl);
    if (info === undefined) throw new MeridianError('bad_request', `invalid resource type ${JSON.stringify(response.typeUrl)}`);
    if (!this.#hasTurn(info, response)) return;
    const { peer, streamId, rules, validate, observe, clock } = this.#options;
    const began = clock.elapsed();
    const read = await this.#pace.run(readResponse(info, response, rules, validate, this.#options.quotas?.resourceBytes));
    const admission = this.#admission?.type === info.name ? this.#admission : null;
    await admission?.check([...read.resources.values()]);
    const prune = this.#pruneAfter(info, response, read);
    const { removed, kept } = await this.#withoutKept(response, read.removed);
    const work = { incoming: read.resources, removed, prune };
    const { written, refusals } = await this.#keep(info, work, [...read.refusals, ...kept]);
    const answer = (): void => this.#answer(info, response.nonce, refusals);
    if (info.name === PACED_TYPE && this.#insights !== null) this.#insights.stored(written, answer);
    else answer();
    const refused = this.#remember(info, [...read.resources.keys(), ...read.removed.keys()], refusals);
    observe({ kind: 'received', peer, streamId, type: info.name, written, refused, seconds: (clock.elapsed() - began) / 1000 });
    if (PROXY_TYPES.has(info.name)) await this.#reportProxies(info);
    if (admission === null) return;
    this.#admission = null;
    await this.#subscribeAll([...this.#types.values()].filter((other) => other !== info));
  }

  /** False if insights have to wait: they are dropped without an answer, and the peer is asked for the newest ones later. */
  #hasTurn({ name }: TypeInfo, { resources, removedResources }: DeltaResponse): boolean {
    if (name !== PACED_TYPE || this.#insights === null) return true;
    return this.#insights.admits(resources.length + removedResources.length, this.#fullState.has(name));
  }

  /** Subscribes to a type again: the peer sends what differs from the rows that are stored now. */
  async #askAgain(type: string): Promise<void> {
    try {
      const types = [...this.#types.values()].filter(({ name }) => name === type);
      const versions = await this.#versionsOf(types);
      if (this.#isClosed) return;
      for (const info of types) this.#subscribe(info, versions.get(info.name) ?? null);
    } catch (cause) {
      this.#options.fail?.(new MeridianError('unavailable', `the store did not say which ${type}s it has`, { cause }));
    }
  }

  /** The names that the last part of a full state does not prune: all names in the state, also of refused resources. */
  #pruneAfter(info: TypeInfo, { isPartial }: DeltaResponse, { resources, refusals }: ReadResponse): Work['prune'] {
    const named = this.#fullState.get(info.name);
    if (named === undefined) return null;
    for (const text of [...resources.keys(), ...refusals.map(nameText)]) named.add(text);
    if (isPartial) return null;
    this.#fullState.delete(info.name);
    return { except: named };
  }

  async #subscribeAll(types: readonly TypeInfo[]): Promise<void> {
    const versions = this.#options.resume ? await this.#versionsOf(types) : null;
    for (const info of types) this.#subscribe(info, versions?.get(info.name) ?? null);
  }

  /** @param versions null: the full state is wanted */
  #subscribe(info: TypeInfo, versions: ReadonlyMap<string, string> | null): void {
    const { send, zone, maxMessageBytes } = this.#options;
    const fits = versions !== null && !this.#isCounted(info) && sizeOf(versions) <= maxMessageBytes / 2;
    if (!fits) this.#fullState.set(info.name, new Set());
    send(
      encodeDeltaRequest({
        node: { id: zone, metadata: fits ? this.#metadata.resume : this.#metadata.fullState },
        typeUrl: info.name,
        subscribe: ['*'],
        unsubscribe: [],
        initialResourceVersions: fits ? versions : new Map(),
        responseNonce: '',
        errorDetail: null,
      }),
    );
  }

  #answer(info: TypeInfo, responseNonce: string, refusals: readonly NackedResource[]): void {
    const { zone, send } = this.#options;
    const isNack = refusals.length > 0;
    if (isNack) {
      const about = { type: info.name, refused: refusals.slice(0, 10), of: refusals.length };
      this.#warnings.warn(info.name, about, 'refused resources of the peer');
    }
    send(
      encodeDeltaRequest({
        node: { id: zone },
        typeUrl: info.name,
        subscribe: isNack ? ['*'] : [],
        unsubscribe: [],
        initialResourceVersions: new Map(),
        responseNonce,
        errorDetail: isNack ? { code: 0, message: nackMessage(refusals), details: writeNackDetails(refusals) } : null,
      }),
    );
  }

  /** @returns the refused resources of the type, up to `MAX_NAMED` */
  #remember(info: TypeInfo, seen: readonly string[], refusals: readonly NackedResource[]): NackedResource[] {
    const known = this.#refused.get(info.name) ?? new Map<string, NackedResource>();
    for (const text of seen) known.delete(text);
    for (const refusal of refusals) {
      const text = nameText(refusal);
      if (known.size < MAX_NAMED || known.has(text)) known.set(text, refusal);
    }
    this.#refused.set(info.name, known);
    return [...known.values()];
  }

  /** `Resource.name` → version of every row in scope, by type. An unknown version is `''`, so that the peer updates or removes the row. */
  async #versionsOf(types: readonly TypeInfo[]): Promise<Map<string, Map<string, string>>> {
    const versions = new Map(types.map(({ name }) => [name, new Map<string, string>()]));
    for (const { type, name, mesh, syncVersion } of await this.#inScope(types))
      versions.get(type)?.set(`${name}.${mesh}`, syncVersion ?? '');
    return versions;
  }

  async #inScope(types: readonly TypeInfo[]): Promise<ResourceMeta[]> {
    const { rules, store } = this.#options;
    const rows = await store.listMeta({ types: types.map(({ name }) => name), ...rules.scope });
    return rows.filter((row) => rules.inScope(row, this.#types.get(row.type) as TypeInfo));
  }

  /** Writes the differences. A row that another writer changes meanwhile is read and compared again. */
  async #store(
    info: TypeInfo,
    all: Work,
    refusedBefore: readonly NackedResource[],
  ): Promise<{ written: number; refusals: NackedResource[] }> {
    const { rules, resume } = this.#options;
    const refusals = [...refusedBefore];
    let written = 0;
    let work: Work | null = all;
    for (let attempt = 1; work !== null; attempt += 1) {
      const { incoming } = work;
      const stored = new Map((await this.#rowsOf(info, incoming.values())).map((row) => [nameText(row), row]));
      const gone = await this.#rowsGone(info, work);
      const plan = await this.#pace.run(planWrites({ info, rules, incoming, stored, gone, exactVersions: resume }));
      const { admitted: writes, refused } = await this.#withinQuota(plan.writes);
      for (const refusal of [...plan.refusals, ...refused]) refusals.push(refusal);
      if (writes.length === 0) break;
      const outcomes = await this.#write(writes, incoming);
      const again: Work & { incoming: Map<string, Incoming>; removed: Map<string, ResourceKey> } = {
        ...{ incoming: new Map(), removed: new Map(), prune: null },
      };
      for (const [index, outcome] of outcomes.entries()) {
        const { op, key } = writes[index] as SyncWrite;
        const resource = work.incoming.get(nameText(key));
        if ('version' in outcome) written += 1;
        else if (outcome.result === 'rejected') refusals.push(nackedResource(info.name, key, outcome.message));
        else if (op === 'delete' && outcome.result === 'missing') continue;
        else if (attempt === ATTEMPTS)
          refusals.push(nackedResource(info.name, key, 'another writer changes this row again and again'));
        else if (op === 'delete') again.removed.set(nameText(key), key);
        else if (resource !== undefined) again.incoming.set(nameText(key), resource);
      }
      work = again.incoming.size > 0 || again.removed.size > 0 ? again : null;
    }
    return { written, refusals };
  }

  /** Whether resources of the type are counted, and not stored. Each stream begins with all of them. */
  #isCounted({ name }: TypeInfo): boolean {
    return this.#proxies !== null && name === PACED_TYPE;
  }

  #countProxies(): CountedProxies {
    const { rules, resume, quotas } = this.#options;
    const info = this.#types.get('Dataplane');
    const stored = async (): Promise<Resource[]> => (info === undefined ? [] : this.#rowsOf(info, await this.#inScope([info])));
    return new CountedProxies({ rules, pace: this.#pace, most: quotas?.rows ?? Infinity, stored: resume ? stored : null });
  }

  /** Stores the response, or counts it. */
  async #keep(
    info: TypeInfo,
    work: Work,
    refusedBefore: readonly NackedResource[],
  ): Promise<{ written: number; refusals: NackedResource[] }> {
    if (this.#proxies === null || !PROXY_TYPES.has(info.name)) return await this.#store(info, work, refusedBefore);
    if (this.#isCounted(info)) {
      const { written, refusals } = await this.#proxies.count(info, work);
      return { written, refusals: [...refusedBefore, ...refusals] };
    }
    await this.#proxies.prepare();
    const stored = await this.#store(info, work, refusedBefore);
    await this.#proxies.take('Dataplane', work, stored.refusals);
    return stored;
  }

  /** Reports the proxies when all are known, and whenever they change. Then the rows go that the first report replaces. */
  async #reportProxies(info: TypeInfo): Promise<void> {
    const { peer, streamId, observe } = this.#options;
    const isFirst = !this.#hasReportedProxies;
    const report = (groups: readonly ProxyGroup[] | null, replacesRows: boolean): void => {
      this.#hasReportedProxies = true;
      observe({ kind: 'counted', peer, streamId, epoch: this.#epoch, groups, replacesRows });
    };
    if (this.#fullState.has(PACED_TYPE)) return;
    if (this.#proxies === null) {
      if (isFirst && info.name === PACED_TYPE) report(null, false);
      return;
    }
    if (this.#fullState.has('Dataplane')) return;
    const rows = isFirst ? await this.#inScope([this.#types.get(PACED_TYPE) ?? info]) : [];
    const groups = this.#proxies.takeChanged();
    if (groups !== null) report(groups, rows.length > 0);
    const deletion = ({ type, mesh, name, version }: ResourceMeta): SyncWrite => {
      return { op: 'delete', key: { type, mesh, name }, expectVersion: version };
    };
    await this.#write(rows.map(deletion), new Map());
  }

  /** Divides withdrawn Meshes: those that can go, and those that are refused because they own rows of this zone. */
  async #withoutKept(
    { isWithdrawal }: DeltaResponse,
    removed: ReadonlyMap<string, ResourceKey>,
  ): Promise<{ removed: ReadonlyMap<string, ResourceKey>; kept: NackedResource[] }> {
    if (isWithdrawal !== true) return { removed, kept: [] };
    const kept = await keptMeshes(removed.values(), this.#options.store);
    const names = new Set(kept.map(nameText));
    return { removed: new Map([...removed].filter(([text]) => !names.has(text))), kept };
  }

  async #rowsOf(info: TypeInfo, named: Iterable<{ readonly mesh: string; readonly name: string }>): Promise<Resource[]> {
    const keys = [...named].map(({ mesh, name }) => ({ type: info.name, mesh, name }));
    const rows: Resource[] = [];
    for (const part of batchesOf(keys, this.#pace, () => 0)) {
      await this.#pace.beforeBatch(part.length);
      for (const row of await this.#options.store.getMany(part)) rows.push(row);
    }
    return rows;
  }

  async #withinQuota(writes: readonly SyncWrite[]): Promise<{ admitted: readonly SyncWrite[]; refused: NackedResource[] }> {
    if (this.#rowQuota === null) return { admitted: writes, refused: [] };
    const result = await this.#rowQuota.admit(writes);
    const { peer, observe } = this.#options;
    const [refused] = result.refused;
    if (refused !== undefined) observe({ kind: 'overQuota', peer, quota: 'rows', reason: refused.reason });
    return result;
  }

  /** Writes in transactions of the size that the pace allows, each behind the fence. Returns the outcomes of all. */
  async #write(writes: readonly SyncWrite[], incoming: Work['incoming']): Promise<WriteOutcome[]> {
    const { peer, store } = this.#options;
    const outcomes: WriteOutcome[] = [];
    const bytesOf = ({ key }: SyncWrite): number => incoming.get(nameText(key))?.bytes ?? 0;
    for (const part of batchesOf(writes, this.#pace, bytesOf)) {
      await this.#pace.beforeBatch(part.length);
      const stored = await store.writeBatch(part, { peer, epoch: this.#epoch });
      this.#rowQuota?.stored(stored);
      for (const outcome of stored) outcomes.push(outcome);
    }
    return outcomes;
  }

  /** The rows that the peer no longer has: those that it removed and, at the end of a full state, those that it did not name. */
  async #rowsGone(info: TypeInfo, { removed, prune }: Work): Promise<ResourceMeta[]> {
    const rows = new Map<string, ResourceMeta>((await this.#rowsOf(info, removed.values())).map((row) => [nameText(row), row]));
    if (prune === null) return [...rows.values()];
    for (const row of await this.#inScope([info])) if (!prune.except.has(nameText(row))) rows.set(nameText(row), row);
    return [...rows.values()];
  }
}

/** Bytes of the map on the wire, roughly: text, tags and lengths. */
function sizeOf(versions: ReadonlyMap<string, string>): number {
  let bytes = 0;
  for (const [name, version] of versions) bytes += Buffer.byteLength(name) + version.length + 8;
  return bytes;
}

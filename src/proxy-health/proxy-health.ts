// Serves health discovery: each Envoy probes itself and the applications behind it, and reports. Inbounds that are not healthy leave the
// endpoints of all clients, and come back. Invariants: a Dataplane is written when a state in it changes, and a report that says the
// same as the last one costs a comparison of bytes. Of the streams of a Dataplane only the newest counts; other replicas may have more of
// them, so that a report changes a row that others write once, and only while it is fresh.
import type { Duplex } from 'node:stream';
import { status } from '@grpc/grpc-js';
import { readProxyNode } from '../ads/proxy-node.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { canceled, exhausted, StatusError } from '../grpc/status.ts';
import { messagesOf } from '../grpc/messages-of.ts';
import type { ProxyStream, ServeProxy } from '../proxy-port/proxy-stream.ts';
import { objectOf, objectsOf } from '../resource/read-json.ts';
import { nameText, type JsonObject, type Resource, type ResourceKey } from '../resource/types.ts';
import { FeedFollower } from '../store/follow-feed.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';
import { decodeHealthMessage, encodeHealthCheckSpecifier, type HealthMessage } from '../wire/health-messages.ts';
import type { ApplicationProbe } from '../xds/default-probe.ts';
import {
  firstAnswerMs,
  healthCheckSpecifier,
  reportIntervalMs,
  withHealth,
  type ProxyHealth as Report,
} from '../xds/service-probe.ts';

type ProxyHealthOptions = {
  readonly store: ResourceStore;
  /** The value of `dpServer.hds.interval` in milliseconds: the longest time between two reports of an Envoy. */
  readonly reportMs: number;
  /** The probe of applications without a `serviceProbe`; null if they are not probed. */
  readonly applications: ApplicationProbe | null;
  readonly clock: Clock;
  readonly log: Logger;
};

type ProxyName = Pick<ResourceKey, 'mesh' | 'name'>;

/**
 * @property knownFrom the time at which each probe has answered, in milliseconds of the clock: until then unhealthy means not yet
 * probed
 * @property reportedAt the time of the last report, also of one that says the same
 * @property writes the number of times that the last report may still change the row
 * @property tries the number of attempts at the row since something changed
 */
type Reporting = {
  readonly at: ProxyName;
  readonly stream: ProxyStream;
  readonly adminSocket: string | null;
  asked: JsonObject | null;
  knownFrom: number;
  last: Buffer;
  health: Report;
  reportedAt: number;
  writes: number;
  tries: number;
};

/** The number of rows of one statement. */
const BATCH = 500;
/** The number of attempts at one row while others write it; a write of others brings a hint. */
const ATTEMPTS = 5;
/**
 * The number of changes of the row by one report: its own, and one after a write of others. With more, replicas that differ would
 * write in turns.
 */
const WRITES = 2;
/**
 * The number of intervals of reports after which the last one says nothing any more of a row that others write: its stream may be
 * half open.
 */
const FRESH_REPORTS = 3;
/** Milliseconds until rows are tried again that could not be read or written. */
const RETRY_MS = 1_000;
/** The limit of a report, in bytes. A report of a proxy with ten probes has a few kilobytes. */
const MAX_REPORT = 1024 * 1024;
const NO_REPORT = Buffer.alloc(0);
const NOTHING: Report = new Map();

export class ProxyHealth {
  readonly #options: ProxyHealthOptions;
  /** The reports by name of the Dataplane. */
  readonly #streams = new Map<string, Reporting>();
  /** Streams whose Dataplane does not exist yet: the configuration stream of the same Envoy brings it. */
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Dataplanes to compare with their rows. */
  readonly #due = new Set<Reporting>();
  #isWorking = false;

  constructor(options: ProxyHealthOptions) {
    this.#options = options;
  }

  readonly serve: ServeProxy = async (stream) => {
    const messages = messagesOf(stream.call as unknown as Duplex);
    const first = await messages.next();
    if (first.done === true) return;
    const { mesh, name, features } = readProxyNode(read(first.value).node ?? { id: '' });
    await stream.identify({ mesh, name });
    // Envoy reports only after it was asked. Before that only the end of the stream can come.
    const second = messages.next();
    const over = new AbortController();
    const stored = await Promise.race([this.#whenStored({ mesh, name }, over.signal), second]).finally(() => over.abort());
    if (!('spec' in stored)) return;
    await stream.admit(stored);
    const reporting: Reporting = {
      ...{ at: { mesh, name }, stream, adminSocket: features.adminSocket, asked: null, knownFrom: 0 },
      ...{ last: NO_REPORT, health: NOTHING, reportedAt: 0, writes: 0, tries: 0 },
    };
    const id = nameText({ mesh, name });
    this.#streams.get(id)?.stream.end(canceled('another stream of the same Dataplane takes the place of this one'));
    this.#streams.set(id, reporting);
    try {
      this.#look(reporting);
      for (let next = await second; next.done !== true; next = await messages.next()) this.#take(reporting, next.value);
    } finally {
      this.#due.delete(reporting);
      if (this.#streams.get(id) === reporting) this.#streams.delete(id);
    }
  };

  /** Reads the Dataplanes that others write, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, log, clock } = this.#options;
    const follower = new FeedFollower({ store, log, clock, types: ['Dataplane'] });
    await follower.run(({ types, keys }) => {
      const ids = types.length > 0 ? [...this.#streams.keys(), ...this.#waiting.keys()] : keys.map(nameText);
      for (const id of ids) {
        const reporting = this.#streams.get(id);
        if (reporting !== undefined) this.#look(reporting);
        for (const wake of this.#waiting.get(id) ?? []) wake();
      }
      return Promise.resolve();
    }, signal);
  }

  /** The number of proxies that report. */
  get size(): number {
    return this.#streams.size;
  }

  /** The number of Dataplanes that wait until they are compared with what was reported. */
  get waiting(): number {
    return this.#due.size;
  }

  #take(reporting: Reporting, bytes: Buffer): void {
    reporting.reportedAt = this.#options.clock.elapsed();
    if (bytes.equals(reporting.last)) return;
    if (bytes.length > MAX_REPORT)
      throw exhausted(`a report has ${String(bytes.length)} bytes; ${String(MAX_REPORT)} are allowed`);
    const { clusters } = read(bytes);
    const isKnown = this.#options.clock.elapsed() >= reporting.knownFrom;
    reporting.health = isKnown ? clusters : new Map([...clusters].filter(([, isHealthy]) => isHealthy));
    // Keep a copy: the message may be a part of a larger buffer.
    if (isKnown) reporting.last = Buffer.from(bytes);
    reporting.writes = WRITES;
    this.#look(reporting);
  }

  /** The Dataplane, when it exists. */
  async #whenStored({ mesh, name }: ProxyName, signal: AbortSignal): Promise<Resource> {
    const id = nameText({ mesh, name });
    for (;;) {
      let wake = (): void => undefined;
      const woken = new Promise<void>((resolve) => (wake = resolve));
      const waiting = this.#waiting.get(id) ?? new Set();
      this.#waiting.set(id, waiting.add(wake));
      signal.addEventListener('abort', wake);
      try {
        const stored = await this.#options.store.get({ type: 'Dataplane', mesh, name });
        if (stored !== undefined) return stored;
        await woken;
      } finally {
        signal.removeEventListener('abort', wake);
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
      }
      if (signal.aborted) throw canceled('the proxy ended the stream');
    }
  }

  #look(reporting: Reporting): void {
    reporting.tries = 0;
    this.#due.add(reporting);
    void this.#work();
  }

  /** It never rejects. */
  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    // Reports of the same turn share a batch.
    await Promise.resolve();
    while (this.#due.size > 0) {
      const batch = [...this.#due].slice(0, BATCH);
      for (const reporting of batch) this.#due.delete(reporting);
      try {
        await this.#handle(batch);
      } catch (error) {
        const { log, clock } = this.#options;
        log.warn(
          { reason: messageOf(error), proxies: batch.length },
          'the health of proxies could not be stored; it is tried again',
        );
        for (const reporting of batch) if (this.#isCurrent(reporting)) this.#due.add(reporting);
        await clock.sleep(RETRY_MS, undefined, { ref: false });
      }
    }
    // This is the same step as the last look at what is due: a report that comes now starts the next.
    this.#isWorking = false;
  }

  async #handle(batch: readonly Reporting[]): Promise<void> {
    const { store } = this.#options;
    const found = await store.getMany(batch.map(({ at }) => ({ type: 'Dataplane', ...at })));
    const rows = new Map(found.map((row) => [nameText(row), row]));
    const changes = batch.flatMap((reporting) => {
      const row = rows.get(nameText(reporting.at));
      if (row === undefined || !this.#isCurrent(reporting)) return [];
      this.#ask(reporting, row);
      const spec = withHealth({ ...row, applications: this.#options.applications }, reporting.health);
      if (spec === row.spec) return [];
      if (this.#mayWrite(reporting)) return [{ reporting, row, spec }];
      // The next report repeats it.
      reporting.last = NO_REPORT;
      return [];
    });
    if (changes.length === 0) return;
    const outcomes = await store.writeBatch(changes.map(({ row, spec }) => update(row, spec)));
    changes.forEach(({ reporting, row, spec }, at) => {
      const outcome = outcomes[at];
      if (outcome?.result === 'updated') {
        reporting.writes -= 1;
        return this.#tell(row, spec);
      }
      reporting.tries += 1;
      if (reporting.tries < ATTEMPTS && this.#isCurrent(reporting)) this.#due.add(reporting);
    });
  }

  #isCurrent(reporting: Reporting): boolean {
    return this.#streams.get(nameText(reporting.at)) === reporting;
  }

  #mayWrite({ asked, reportedAt, writes }: Reporting): boolean {
    const age = this.#options.clock.elapsed() - reportedAt;
    return writes > 0 && age <= FRESH_REPORTS * reportIntervalMs(asked ?? {});
  }

  /** Sends the probes if they differ from the last ones sent. */
  #ask(reporting: Reporting, row: Resource): void {
    const { stream, adminSocket, asked } = reporting;
    const { reportMs, applications } = this.#options;
    const next = healthCheckSpecifier({ ...row, applications }, adminSocket, reportMs);
    if (asked !== null && JSON.stringify(asked) === JSON.stringify(next)) return;
    reporting.asked = next;
    reporting.knownFrom = this.#options.clock.elapsed() + firstAnswerMs(next);
    reporting.last = NO_REPORT;
    stream.call.write(encodeHealthCheckSpecifier(next));
  }

  #tell({ mesh, name, spec: before }: Resource, after: JsonObject): void {
    const now = inboundsOf(after);
    inboundsOf(before).forEach(({ state }, at) => {
      const inbound = now[at];
      if (inbound === undefined || inbound['state'] === state) return;
      const facts = { mesh, dataplane: name, port: inbound['port'] };
      if (inbound['state'] === 'NotReady') this.#options.log.warn(facts, 'an inbound is not healthy: it gets no requests');
      else this.#options.log.info(facts, 'an inbound is healthy again');
    });
  }
}

function inboundsOf(spec: JsonObject): readonly JsonObject[] {
  return objectsOf(objectOf(spec['networking'])['inbound']);
}

function update({ type, mesh, name, labels, version }: Resource, spec: JsonObject): Write {
  return { op: 'update', key: { type, mesh, name }, labels, spec, expectVersion: version };
}

/** @throws StatusError INVALID_ARGUMENT */
function read(bytes: Uint8Array): HealthMessage {
  try {
    return decodeHealthMessage(bytes);
  } catch (error) {
    throw new StatusError(status.INVALID_ARGUMENT, messageOf(error));
  }
}

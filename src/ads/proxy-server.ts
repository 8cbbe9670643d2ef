// Serves the streams of proxies: it identifies the proxy of each, and sends its configuration and every change of it. Invariants: of
// the streams of a Dataplane only the newest is served; a proxy gets nothing before it is admitted; a stream that ends leaves no state.
import type { Duplex } from 'node:stream';
import { status } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { runInSlices } from '../base/steps.ts';
import { TimeSlices } from '../base/time-slices.ts';
import { broughtStatus } from '../resource/brought-parts.ts';
import { parseDataplane } from '../policy/dataplane-proxy.ts';
import type { ProxyDataplane, ProxyPermit } from '../resource/proxy-permit.ts';
import { canceled, StatusError } from '../grpc/status.ts';
import { eachMessage } from '../grpc/messages-of.ts';
import type { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import type { ProxyStream, ServeProxy } from '../proxy-port/proxy-stream.ts';
import { label } from '../resource/labels.ts';
import { hasZoneListeners } from '../resource/zone-listeners.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { SingleFlight } from '../store/single-flight.ts';
import { FollowedViews } from './followed-views.ts';
import type { MeshViews } from './mesh-views.ts';
import { ProxyConnection } from './proxy-connection.ts';
import { NameSets } from './name-sets.ts';
import type { ProxyView } from './proxy-view.ts';
import { countByEvents, type CountStream, type ProxyConnectionFacts, type ProxyObserver } from './proxy-events.ts';
import { readProxyNode, type ProxyNode } from './proxy-node.ts';
import { ProxyCertificates, type ProxyName } from './proxy-certificates.ts';
import { ResourceEncoder } from './encode-resources.ts';
import { RequestReader } from './request-reader.ts';
import { ResponseEncoder } from './response-encoder.ts';

/** A Dataplane in the first request of a proxy. */
export type GivenDataplane = ProxyDataplane;

/** The Dataplanes of the zone, and who holds those that proxies bring. */
export type Dataplanes = {
  /** A Dataplane from its JSON, as it would be stored. @throws MeridianError `invalid` that names the field */
  readonly read: (text: string, at: { readonly mesh: string; readonly name: string }) => GivenDataplane;
  readonly stored: (mesh: string, name: string) => Promise<GivenDataplane | null>;
  /** Stores a Dataplane for as long as its proxy is connected, to this control plane or another one of the zone. */
  readonly register: (dataplane: GivenDataplane, facts: ProxyConnectionFacts) => Promise<void>;
  /** The stream of a proxy has ended; it may come back. */
  readonly release: (facts: ProxyConnectionFacts) => void;
};

export type ProxyServerOptions = {
  readonly indexes: MeshIndexes;
  readonly zone: string;
  /** Names this control plane in each response. */
  readonly instanceId: string;
  readonly dataplanes: Dataplanes;
  readonly observe: ProxyObserver;
  /** Makes the counter of a stream. Without it `observe` gets each sent and accepted response as an event. */
  readonly count?: CountStream;
  /** Where the authorities of MeshIdentities are. */
  readonly store: Pick<ResourceStore, 'getMany'>;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Of a Dataplane that is not stored yet. */
const NEW_ROW = {
  type: 'Dataplane',
  version: 0,
  creationTime: new Date(0),
  modificationTime: new Date(0),
  owner: null,
  syncVersion: null,
};

/** The tasks at the end of a stream. */
/** Milliseconds of work in one turn of the event loop. */
const SLICE_MS = 5;

type End = () => void;

export class ProxyServer {
  readonly #options: ProxyServerOptions;
  readonly #encoder = new ResourceEncoder();
  readonly #requests = new RequestReader();
  readonly #responses: ResponseEncoder;
  readonly #nameSets = new NameSets();
  /** By mesh; they are made for the first proxy of a mesh. */
  readonly #views = new Map<string, Promise<MeshViews>>();
  /** The stream that is served of each Dataplane. */
  readonly #streams = new Map<string, ProxyStream>();
  /** After a restart all proxies come at once. Their work leaves time for everything else, such as the check of readiness. */
  readonly #slices: TimeSlices;
  readonly #certificates: ProxyCertificates;
  readonly #count: CountStream;
  /** Proxies that come together wait for the store together. */
  readonly #waits = new SingleFlight();

  constructor(options: ProxyServerOptions) {
    this.#options = options;
    const { instanceId, store, clock, log, observe, count = countByEvents(observe) } = options;
    this.#count = count;
    this.#slices = new TimeSlices(clock);
    this.#responses = new ResponseEncoder(instanceId);
    const issued = ({ mesh, name }: ProxyName): void => void this.#renew(mesh, name);
    this.#certificates = new ProxyCertificates({ store, clock, log, issued });
  }

  readonly serve: ServeProxy = async (stream) => {
    const ends: End[] = [];
    let connection: ProxyConnection | null = null;
    const take = (bytes: Buffer): void | Promise<void> => {
      const open = connection;
      return open === null ? begin(bytes) : this.#slices.run(() => open.take(bytes));
    };
    const begin = async (bytes: Buffer): Promise<void> => void (connection = await this.#begin(stream, bytes, ends));
    try {
      await eachMessage(stream.call as unknown as Duplex, take);
    } finally {
      for (const end of ends.reverse()) end();
    }
  };

  /** Ends a stream whose proxy has a newer one at another control plane of the zone. */
  supersede({ mesh, name }: { readonly mesh: string; readonly name: string }, streamId: string): void {
    const stream = this.#streams.get(JSON.stringify([mesh, name]));
    if (stream?.id === streamId) stream.end(canceled('a newer stream of the same Dataplane is open at another control plane'));
  }

  /** How many proxies are served. */
  get size(): number {
    return this.#streams.size;
  }

  /**
   * Admits the proxy that opens a stream, and answers its first request.
   * @param ends gets the tasks at the end of the stream, also after an error
   */
  async #begin(stream: ProxyStream, bytes: Buffer, ends: End[]): Promise<ProxyConnection> {
    const request = this.#requests.read(bytes);
    const node = readProxyNode(request.node);
    const { mesh } = node;
    // They have everything that was committed before the stream opened.
    const known = node.dataplane === '' ? await this.#knownViews(mesh) : null;
    const { facts, isBrought, permit } = await this.#letIn(stream, node, known);
    ends.push(this.#replace(stream, facts, isBrought));
    const opened = { features: node.features, drainMs: node.drainMs, permit };
    const connection = await this.#connect(stream, facts, opened, ends, known ?? (await this.#viewsOf(mesh)));
    await this.#slices.run(() => connection.handle(request));
    return connection;
  }

  /** From now on this is the stream of its Dataplane. */
  #replace(stream: ProxyStream, facts: ProxyConnectionFacts, isBrought: boolean): End {
    const { mesh, name } = facts;
    const key = JSON.stringify([mesh, name]);
    this.#streams.get(key)?.end(canceled('another stream of the same Dataplane takes the place of this one'));
    this.#streams.set(key, stream);
    return () => {
      if (this.#streams.get(key) === stream) this.#streams.delete(key);
      // A newer stream needs the certificate itself. An older one may have asked for it after the newer one ended.
      if (!this.#streams.has(key)) this.#certificates.release({ mesh, name });
      if (isBrought) this.#options.dataplanes.release(facts);
    };
  }

  /** Checks the token against the Dataplane that the proxy brings and the stored one. @returns whether it brings one, too */
  async #letIn(
    stream: ProxyStream,
    node: ProxyNode,
    known: MeshViews | null,
  ): Promise<{ readonly facts: ProxyConnectionFacts; readonly isBrought: boolean; readonly permit: ProxyPermit }> {
    const { dataplanes } = this.#options;
    const { mesh, name, ownName, run, version, metadata, dataplane } = node;
    const factsOf = ({ labels, spec }: GivenDataplane): ProxyConnectionFacts => ({
      ...{ streamId: stream.id, mesh, name, namespace: labels[label.namespace] ?? '', run, version, metadata },
      isZoneProxy: hasZoneListeners(spec),
    });
    // A row with hundreds of outbounds is many kilobytes of JSON: the store is asked for those alone that the views do not have.
    const stored = known?.dataplane(name) ?? (await dataplanes.stored(mesh, name));
    if (dataplane === '') {
      if (stored === null) {
        await stream.identify({ mesh, name });
        throw notFound(mesh, name);
      }
      const permit = await stream.admit(stored);
      return { facts: factsOf(stored), isBrought: false, permit };
    }
    const read = dataplanes.read(dataplane, { mesh, name: ownName });
    const given = { ...read, status: broughtStatus(read, stored) };
    const permit = await (stored === null ? stream.admit(given) : stream.admit(given, stored));
    await this.#requireIdentity(given, permit);
    const facts = factsOf(given);
    await dataplanes.register(given, facts);
    return { facts, isBrought: true, permit };
  }

  /** A Dataplane that could not have its identity is not stored: clients would be sent to a proxy that serves none of them. */
  async #requireIdentity(given: GivenDataplane, permit: ProxyPermit): Promise<void> {
    const views = await this.#viewsOf(given.mesh).catch(() => null);
    const proxy = parseDataplane({ ...NEW_ROW, status: {}, ...given });
    const reason = views?.refusesIdentity(proxy, permit) ?? null;
    if (reason !== null) throw denied(reason);
  }

  /** Makes the view of an admitted proxy, which tells the connection of each change. What stays holds nothing of the first request. */
  async #connect(
    stream: ProxyStream,
    facts: ProxyConnectionFacts,
    { features, drainMs, permit }: Pick<ProxyNode, 'features' | 'drainMs'> & { readonly permit: ProxyPermit },
    ends: End[],
    views: MeshViews,
  ): Promise<ProxyConnection> {
    const { indexes, observe, clock } = this.#options;
    const { mesh, name } = facts;
    // A proxy that comes again must not be sent plain text first: its clients may use TLS.
    const order = await indexes.settled(mesh, () => views.orderOf(name));
    const { call, log } = stream;
    if (order !== null) await Promise.race([this.#certificates.ready({ mesh, name }, order), cancellation(call)]);
    // A proxy that has left while it waited costs nothing.
    const open = (): ProxyView | undefined => (call.cancelled ? undefined : views.open(name, features, permit));
    const begin = (): ProxyConnection => {
      const reason = views.refusesIdentityOf(name, permit);
      if (reason !== null) throw denied(reason);
      const view = open();
      if (view === undefined) throw notFound(mesh, name);
      const shared = { requests: this.#requests, encoder: this.#responses, nameSets: this.#nameSets };
      const own = { observe, counter: this.#count(facts), clock, drainMs, log };
      const connection = new ProxyConnection({ facts, view, stream: call, ...shared, ...own });
      const tellProblems = (): void => {
        const problems = view.takeProblems();
        if (problems !== null) observe({ ...facts, kind: 'problems', problems });
      };
      view.listen({
        changed: (names) => {
          connection.viewChanged(names);
          tellProblems();
        },
        ended: () => stream.end(notFound(mesh, name)),
        failed: (error) => {
          log.error({ err: error }, 'the configuration of the proxy cannot be built; the proxy keeps the last one');
          stream.end(error);
        },
      });
      call.on('drain', () => connection.flush());
      observe({ ...facts, kind: 'opened' });
      ends.push(() => {
        connection.end();
        views.close(name, view);
        observe({ ...facts, kind: 'closed' });
      });
      tellProblems();
      return connection;
    };
    // It waits for the store first: a turn that waits would hold up the answers of all proxies.
    return await indexes.settled(mesh, async () => {
      await runInSlices(views.prepare(name, features, permit), SLICE_MS, this.#options.clock);
      return await this.#slices.run(begin);
    });
  }

  async #renew(mesh: string, name: string): Promise<void> {
    const { indexes, log } = this.#options;
    const views = await this.#views.get(mesh)?.catch(() => undefined);
    if (views === undefined) return;
    await indexes
      .settled(mesh, () => views.renew(name))
      .catch((error: unknown) => log.error({ mesh, name, reason: messageOf(error) }, 'a new certificate was not sent'));
  }

  /** The views of a mesh that has had a proxy, with everything that is committed now; null for another mesh. */
  async #knownViews(mesh: string): Promise<MeshViews | null> {
    if (!this.#views.has(mesh)) return null;
    await this.#waits.call(mesh, () => this.#options.indexes.indexOf(mesh));
    // The mesh may be gone meanwhile.
    return (await this.#views.get(mesh)) ?? null;
  }

  async #viewsOf(mesh: string): Promise<MeshViews> {
    const known = await this.#knownViews(mesh);
    if (known !== null) return known;
    // Another proxy may have begun to make them meanwhile: a mesh has one observer.
    const making = this.#views.get(mesh);
    if (making !== undefined) return await making;
    const made = this.#makeViews(mesh);
    this.#views.set(mesh, made);
    made.catch(() => this.#views.delete(mesh));
    return await made;
  }

  async #makeViews(mesh: string): Promise<MeshViews> {
    const { indexes, zone, clock } = this.#options;
    const onEnd = (): void => void this.#views.delete(mesh);
    const followed = await indexes.observe(
      mesh,
      (index) => new FollowedViews({ index, encoder: this.#encoder, zone, clock, certificates: this.#certificates, onEnd }),
    );
    if (followed === null) throw new StatusError(status.NOT_FOUND, `mesh ${JSON.stringify(mesh)} does not exist`);
    return followed.views;
  }
}

/** Resolves when the proxy has ended its stream. */
async function cancellation(call: ProxyStream['call']): Promise<void> {
  if (!call.cancelled) await new Promise<void>((resolve) => call.once('cancelled', () => resolve()));
}

function denied(reason: string): StatusError {
  return new StatusError(status.PERMISSION_DENIED, reason);
}

function notFound(mesh: string, name: string): StatusError {
  const what = `Dataplane ${JSON.stringify(name)} of mesh ${JSON.stringify(mesh)} does not exist`;
  return new StatusError(status.NOT_FOUND, `${what}; create it, or give the proxy a file with it (--dataplane-file)`);
}

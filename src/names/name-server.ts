// Serves the streams of names of launchers (`meridian dataplane run`): each gets the names of its proxy, and every change of them. It needs
// nothing of the configuration stream of the same proxy, which may be at another control plane of the zone.
import type { Duplex } from 'node:stream';
import { status } from '@grpc/grpc-js';
import { readProxyNode } from '../ads/proxy-node.ts';
import { RequestReader } from '../ads/request-reader.ts';
import type { Clock } from '../base/clock.ts';
import { canceled, StatusError } from '../grpc/status.ts';
import { eachMessage } from '../grpc/messages-of.ts';
import type { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import type { ProxyStream, ServeProxy } from '../proxy-port/proxy-stream.ts';
import { NAME_TYPE_URL } from '../wire/name-messages.ts';
import type { DeltaRequest } from '../wire/kds-messages.ts';
import type { NameTable } from '../xds/name-table.ts';
import { MeshNames, type NameFollower } from './mesh-names.ts';
import { nameResponses } from './name-responses.ts';
import { NameSession } from './name-session.ts';

type NameServerOptions = { readonly indexes: Pick<MeshIndexes, 'observe' | 'settled'>; readonly clock: Clock };

/** Names that a launcher may have from before. */
const MAX_NAMES = 100_000;

export class NameServer {
  readonly #options: NameServerOptions;
  readonly #requests = new RequestReader();
  /** By mesh; they are made for the first launcher of a mesh. */
  readonly #meshes = new Map<string, Promise<MeshNames>>();
  /** The stream that is served of each Dataplane. */
  readonly #streams = new Map<string, ProxyStream>();

  constructor(options: NameServerOptions) {
    this.#options = options;
  }

  readonly serve: ServeProxy = async (stream) => {
    const over = new AbortController();
    stream.call.once('cancelled', () => over.abort());
    let open: OpenNames | null = null;
    const begin = async (bytes: Buffer): Promise<void> => void (open = await this.#begin(stream, bytes, over.signal));
    const take = (bytes: Buffer): void | Promise<void> => {
      if (open === null) return begin(bytes);
      open.take(this.#requests.read(bytes));
    };
    try {
      await eachMessage(stream.call as unknown as Duplex, take);
    } finally {
      over.abort();
    }
  };

  /** How many launchers are served. */
  get size(): number {
    return this.#streams.size;
  }

  /** Admits the launcher that opens a stream, and answers its first request. A Dataplane that does not exist yet is waited for. */
  async #begin(stream: ProxyStream, bytes: Buffer, signal: AbortSignal): Promise<OpenNames> {
    const request = this.#requests.read(bytes);
    const { mesh, name } = readProxyNode(request.node);
    if (request.typeUrl !== NAME_TYPE_URL) throw invalid(`type_url must be ${NAME_TYPE_URL}`);
    if (request.initialResourceVersions.size > MAX_NAMES) throw invalid(`at most ${String(MAX_NAMES)} names may be held`);
    await stream.identify({ mesh, name });
    const names = await this.#namesOf(mesh);
    const row = await names.whenStored(name, signal);
    if (row === undefined) throw canceled('the launcher ended the stream, or its mesh is gone');
    const permit = await stream.admit(row);
    const open = await this.#options.indexes.settled(mesh, () => OpenNames.of(stream, request, { names, name, permit }));
    if (open === null) throw gone();
    const end = this.#replace(JSON.stringify([mesh, name]), stream, open);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    return open;
  }

  /** From now on this is the stream of its Dataplane. @returns its end */
  #replace(key: string, stream: ProxyStream, open: OpenNames): () => void {
    this.#streams.get(key)?.end(canceled('another stream of the same launcher takes the place of this one'));
    this.#streams.set(key, stream);
    return () => {
      open.end();
      if (this.#streams.get(key) === stream) this.#streams.delete(key);
    };
  }

  async #namesOf(mesh: string): Promise<MeshNames> {
    const known = this.#meshes.get(mesh);
    if (known !== undefined) return await known;
    const made = this.#make(mesh);
    this.#meshes.set(mesh, made);
    made.catch(() => this.#meshes.delete(mesh));
    return await made;
  }

  async #make(mesh: string): Promise<MeshNames> {
    const { indexes, clock } = this.#options;
    const onEnd = (): void => void this.#meshes.delete(mesh);
    const names = await indexes.observe(mesh, (index) => new MeshNames(index, clock, onEnd));
    if (names === null) throw unavailable(`mesh ${JSON.stringify(mesh)} does not exist yet`);
    return names;
  }
}

/** A stream whose launcher was let in. */
class OpenNames {
  readonly #call: ProxyStream['call'];
  readonly #session: NameSession;
  readonly #leave: () => void;
  #nonces = 0;

  private constructor(stream: ProxyStream, session: NameSession, leave: () => void) {
    this.#call = stream.call;
    this.#session = session;
    this.#leave = leave;
    this.#call.on('drain', () => this.#flush());
  }

  /** Call it in a turn of the index. @returns null where the Dataplane is gone */
  static of(
    stream: ProxyStream,
    { initialResourceVersions }: DeltaRequest,
    { names, name, permit }: Pick<NameFollower, 'name' | 'permit'> & { readonly names: MeshNames },
  ): OpenNames | null {
    let open: OpenNames | null = null;
    const follower: NameFollower = {
      ...{ name, permit },
      changed: (table) => open?.tell(table),
      ended: () => stream.end(gone()),
    };
    const table = names.follow(follower);
    if (table === null) return null;
    open = new OpenNames(stream, new NameSession(table, initialResourceVersions), () => names.leave(follower));
    open.#flush();
    return open;
  }

  /** A change that a launcher refuses would be refused again: both answers count. An answer to an earlier message does not. */
  take({ responseNonce }: DeltaRequest): void {
    if (responseNonce !== String(this.#nonces)) return;
    this.#session.answered();
    this.#flush();
  }

  tell(table: NameTable): void {
    this.#session.update(table);
    this.#flush();
  }

  end(): void {
    this.#leave();
  }

  #flush(): void {
    if (this.#call.writableNeedDrain) return;
    const changes = this.#session.take();
    if (changes === null) return;
    for (const parts of nameResponses(changes, () => String((this.#nonces += 1)))) this.#call.write(parts);
  }
}

function gone(): StatusError {
  return unavailable('the Dataplane does not exist any more');
}

function unavailable(text: string): StatusError {
  return new StatusError(status.UNAVAILABLE, text);
}

function invalid(text: string): StatusError {
  return new StatusError(status.INVALID_ARGUMENT, text);
}

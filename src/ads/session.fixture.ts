// A view that a test replaces, and a proxy that answers as Envoy does.
import {
  XDS_TYPES,
  type XdsRequest,
  type XdsResource,
  type XdsResponse,
  type XdsType,
  type XdsView,
} from './session-messages.ts';
import type { SessionTime } from './removal-times.ts';
import { XdsSession } from './session.ts';

/** Versions by type and name. */
export type Contents = Partial<Record<XdsType, Readonly<Record<string, string>>>>;

/** A view that may be replaced. Others connect to listeners whose name begins with `in`. */
class TestView implements XdsView {
  #contents: Contents;
  /** Names of listeners. */
  readonly kept = new Set<string>();

  constructor(contents: Contents) {
    this.#contents = contents;
  }

  get(type: XdsType, name: string): XdsResource | undefined {
    const version = this.#contents[type]?.[name];
    if (version === undefined) return undefined;
    return { name, version, bytes: new Uint8Array(), ...(name.startsWith('in') && { isLasting: true }) };
  }

  names(type: XdsType): string[] {
    return Object.keys(this.#contents[type] ?? {});
  }

  isKept(type: XdsType, name: string): boolean {
    return type === 'Listener' && this.kept.has(name);
  }

  replace(contents: Contents, session: XdsSession): void {
    const before = this.#contents;
    this.#contents = contents;
    const changed = (type: XdsType): Map<string, string> =>
      new Map(
        Object.keys({ ...before[type], ...contents[type] }).flatMap((name) => {
          const version = before[type]?.[name] ?? '';
          return version === (contents[type]?.[name] ?? '') ? [] : [[name, version]];
        }),
      );
    session.viewChanged(new Map(XDS_TYPES.map((type) => [type, changed(type)])));
  }
}

export function sessionOf(
  contents: Contents,
  time?: SessionTime,
): { session: XdsSession; replace: (contents: Contents) => void; kept: Set<string> } {
  const view = new TestView(contents);
  const session = new XdsSession(view, undefined, time);
  return { session, replace: (next) => view.replace(next, session), kept: view.kept };
}

export function request(type: XdsType, more: Partial<XdsRequest> = {}): XdsRequest {
  return { type, subscribe: [], unsubscribe: [], initialVersions: new Map(), nonce: '', error: null, ...more };
}

/** As Envoy does: it subscribes to the assignments of its clusters and the routes of its listeners, and forgets with them. */
export class Proxy {
  readonly held = new Map<XdsType, Map<string, string>>(XDS_TYPES.map((type) => [type, new Map()]));
  readonly log: string[] = [];
  /** Clusters that wait for their assignment. */
  readonly warming = new Set<string>();
  readonly #session: XdsSession;
  /** The response of clusters that is not accepted yet. */
  #clusters: string | null = null;

  constructor(session: XdsSession) {
    this.#session = session;
    for (const type of ['Cluster', 'Listener'] as const) session.receive(request(type));
  }

  /** Takes all responses, and answers each. */
  settle(): void {
    for (let responses = this.#session.take(); responses.length > 0; responses = this.#session.take())
      for (const response of responses) this.#take(response);
  }

  #take({ type, nonce, resources, removed }: XdsResponse): void {
    const held = this.#heldOf(type);
    const before = new Set(held.keys());
    for (const { name, version } of resources) held.set(name, version);
    for (const name of removed) held.delete(name);
    this.log.push(`${type} ${resources.map(({ name }) => `+${name}`).join('')}${removed.map((name) => `-${name}`).join('')}`);
    if (type === 'Cluster') for (const { name } of resources) this.warming.add(name);
    if (type === 'ClusterLoadAssignment') for (const { name } of resources) this.warming.delete(name);
    const follower = type === 'Cluster' ? 'ClusterLoadAssignment' : type === 'Listener' ? 'RouteConfiguration' : null;
    const added = [...held.keys()].filter((name) => !before.has(name));
    const gone = [...before].filter((name) => !held.has(name));
    if (follower !== null && added.length + gone.length > 0) {
      for (const name of gone) this.#heldOf(follower).delete(name);
      for (const name of gone) this.warming.delete(name);
      this.#session.receive(request(follower, { subscribe: added, unsubscribe: gone }));
    }
    if (type === 'Cluster') this.#clusters = nonce;
    else this.#session.receive(request(type, { nonce }));
    // Clusters are accepted when all of them are warm.
    if (this.#clusters === null || this.warming.size > 0) return;
    this.#session.receive(request('Cluster', { nonce: this.#clusters }));
    this.#clusters = null;
  }

  #heldOf(type: XdsType): Map<string, string> {
    const held = this.held.get(type) ?? new Map<string, string>();
    this.held.set(type, held);
    return held;
  }
}

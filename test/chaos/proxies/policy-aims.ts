// Writes policies at random: each is widened, narrowed, changed and removed. It knows which kept connections pass where a policy applies, or
// applied before.
import type { JsonObject } from '../../../src/resource/types.ts';
import { SERVERS, type EditedMesh, type Server } from './edited-mesh.ts';
import type { Kept, Spoken } from './kept-connections.ts';
import { SPREAD } from './other-zone.ts';

/** A spec, and the kept connections that pass where it applies. */
export type Aimed = { readonly spec: JsonObject; readonly touches: readonly Kept[] };

const OF_SERVERS: readonly Kept[] = ['tcp@server-1', 'tcp@server-2', 'stream@server-1', 'stream@server-2'];
/** Those that end in a proxy of the first zone. */
export const OF_ZONE: readonly Kept[] = [...OF_SERVERS, 'tcp@outside'];
export const OF_CLIENT: readonly Kept[] = [...OF_ZONE, 'tcp@west'];
export const ofServer = (server: Server): Kept[] => OF_SERVERS.filter((kept) => kept.endsWith(`@${server}`));

const dataplane = (labels: JsonObject, section: JsonObject = {}): JsonObject => ({
  targetRef: { kind: 'Dataplane', labels, ...section },
});
export const CLIENT = dataplane({ app: 'client' });

export class PolicyAims {
  readonly edited: EditedMesh;
  /** A number from 0 to below another. */
  readonly below: (count: number) => number;
  /** The policies that are there, with what they touch. */
  readonly #written = new Map<string, readonly Kept[]>();

  constructor(edited: EditedMesh, below: (count: number) => number) {
    this.edited = edited;
    this.below = below;
  }

  oneOf<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }

  /** Some of the items, at least one. */
  someOf<Item>(items: readonly Item[]): Item[] {
    const first = this.below(items.length);
    return items.filter((_, at) => at === first || this.below(2) === 0);
  }

  /** Writes a policy with another content than before, or deletes it. @returns what it touches, or did until now */
  async write(type: string, name: string, aimedOf: (by: number) => Aimed): Promise<readonly Kept[]> {
    const before = this.#written.get(name);
    if (before !== undefined && this.below(3) === 0) return await this.remove(type, name);
    const { spec, touches } = aimedOf(1 + this.below(50));
    this.#written.set(name, touches);
    await this.edited.put(type, name, { spec });
    return [...(before ?? []), ...touches];
  }

  async remove(type: string, name: string): Promise<readonly Kept[]> {
    const before = this.#written.get(name) ?? [];
    this.#written.delete(name);
    await this.edited.delete(type, name);
    return before;
  }

  ofOne(this: void, server: Server): JsonObject {
    return dataplane({ app: 'server', 'kuma.io/display-name': server });
  }

  /** Both servers, one, or one inbound of it. */
  servers(): Aimed {
    const server = this.oneOf(SERVERS);
    const labels = { app: 'server', 'kuma.io/display-name': server };
    const kind = this.oneOf<'http' | Spoken>(['http', 'tcp', 'stream']);
    switch (this.below(3)) {
      case 0:
        return { spec: dataplane({ app: 'server' }), touches: OF_SERVERS };
      case 1:
        return { spec: dataplane(labels), touches: ofServer(server) };
      default:
        return {
          spec: dataplane(labels, { sectionName: this.edited.sectionOf(server, kind) }),
          touches: kind === 'http' ? [] : [`${kind}@${server}`],
        };
    }
  }

  /** Rules of servers, in the form of today or in the one before it. */
  rules(conf: JsonObject): Aimed {
    const { spec, touches } = this.servers();
    const from = { from: [{ targetRef: { kind: 'Mesh' }, default: conf }] };
    return { spec: { ...spec, ...(this.below(3) === 0 ? from : { rules: [{ default: conf }] }) }, touches };
  }

  /** Towards all services, an external one, that of both zones, or one service of the mesh or its port. */
  to(conf: JsonObject): Aimed {
    const kind = this.oneOf<'http' | Spoken>(['http', 'tcp', 'stream']);
    const ofKind = OF_SERVERS.filter((kept) => kept.startsWith(`${kind}@`));
    const port = this.below(2) === 0 ? { sectionName: 'main' } : {};
    const [targetRef, touches] = this.oneOf<readonly [JsonObject, readonly Kept[]]>([
      [{ kind: 'Mesh' }, OF_CLIENT],
      [{ kind: 'MeshExternalService', name: 'outside-tcp' }, ['tcp@outside']],
      [{ kind: 'MeshService', name: kind, ...port }, ofKind],
      [{ kind: 'MeshMultiZoneService', labels: { 'kuma.io/display-name': SPREAD } }, []],
    ]);
    const top = this.below(3) === 0 ? {} : CLIENT;
    return { spec: { ...top, to: [{ targetRef, default: conf }] }, touches };
  }
}

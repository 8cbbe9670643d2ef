// Connections of a client that stay open while a mesh is edited: of each protocol one to each place that serves it. Each is opened again
// when it has ended.
import { expect, vi } from 'vitest';
import { openStream, openTcp, type LongConnection } from '../../envoy/long-connections.ts';

/** What a kept connection speaks: TCP, or a stream of gRPC. */
export type Spoken = 'tcp' | 'stream';
/** Who answers. It says its name first. */
export type Place = 'server-1' | 'server-2' | 'outside' | 'west';
export type Kept = `${Spoken}@${Place}`;

/** What the client calls, and who answers there. */
const CALLED = [
  { name: 'tcp', spoken: 'tcp', open: openTcp, places: ['server-1', 'server-2'] },
  { name: 'stream', spoken: 'stream', open: openStream, places: ['server-1', 'server-2'] },
  { name: 'outside-tcp', spoken: 'tcp', open: openTcp, places: ['outside'] },
  { name: 'far-tcp', spoken: 'tcp', open: openTcp, places: ['west'] },
] as const;
/** Connections until one has come to each place: balancers choose at random. */
const ATTEMPTS = 200;

export class KeptConnections {
  readonly #ports: Readonly<Record<(typeof CALLED)[number]['name'], number>>;
  readonly #held = new Map<Kept, LongConnection>();

  /** @param ports of the client */
  constructor(ports: Readonly<Record<(typeof CALLED)[number]['name'], number>>) {
    this.#ports = ports;
  }

  /** @returns those that have ended since the last call, or do not answer */
  async renew(): Promise<Kept[]> {
    const ended: Kept[] = [];
    for (const [kept, connection] of [...this.#held]) {
      if (await answers(connection)) continue;
      connection.close();
      this.#held.delete(kept);
      ended.push(kept);
    }
    for (const { name, spoken, open, places } of CALLED) {
      const isMissing = (): boolean => places.some((place) => !this.#held.has(`${spoken}@${place}`));
      for (let attempt = 0; isMissing(); attempt += 1) {
        expect(attempt, `connections of ${name}`).toBeLessThan(ATTEMPTS);
        await this.#keep(name, spoken, open(this.#ports[name]));
      }
    }
    return ended;
  }

  async #keep(name: string, spoken: Spoken, connection: LongConnection): Promise<void> {
    expect(await answers(connection), `a new connection of ${name}`).toBe(true);
    const kept = `${spoken}@${connection.heard().split(' ', 1)[0] as Place}` as const;
    if (this.#held.has(kept)) connection.close();
    else this.#held.set(kept, connection);
  }

  close(): void {
    for (const connection of this.#held.values()) connection.close();
  }
}

async function answers(connection: LongConnection): Promise<boolean> {
  const before = connection.heard().length;
  const words = `words ${String(before)} `;
  if (!connection.hasEnded()) connection.say(words);
  await vi.waitFor(() => expect(connection.hasEnded() || connection.heard().slice(before).includes(words)).toBe(true));
  return !connection.hasEnded();
}

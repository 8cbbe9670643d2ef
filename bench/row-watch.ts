// Waits for rows of a control plane's database by listening, never by sleeping.
import pg from 'pg';
import { CHANNEL } from '../src/store/change-feed.ts';
import type { PostgresConfig } from '../src/store/database.ts';
import { nowMs } from './measure.ts';
import { clientConfig } from './postgres.ts';

const PATIENCE_MS = 60_000;

/** For `until`: the Mesh of that name is there, and a global has written its defaults, of which the id of the cluster is the last. */
export const HAS_MESH = `select exists (select from resources where type = 'Mesh' and name = $1) as yes`;
export const HAS_DEFAULTS = `select exists (select from resources where type = 'Config' and name = 'kuma-cluster-id') as yes`;

export class RowWatch {
  readonly #client: pg.Client;
  /** When each channel last had a notification, in milliseconds of `nowMs`. */
  readonly #notified = new Map<string, number>();
  #count = 0;
  #wake: (() => void) | null = null;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async open(database: PostgresConfig, channels: readonly string[] = []): Promise<RowWatch> {
    const client = new pg.Client(clientConfig(database));
    await client.connect();
    const watch = new RowWatch(client);
    client.on('notification', ({ channel }) => {
      watch.#notified.set(channel, nowMs());
      watch.#count += 1;
      watch.#wake?.();
    });
    for (const channel of [CHANNEL, ...channels]) await client.query(`LISTEN ${channel}`);
    return watch;
  }

  /** Waits until the query answers `yes` as true. */
  static async see(database: PostgresConfig, query: string, values: readonly unknown[] = []): Promise<void> {
    const watch = await RowWatch.open(database);
    try {
      await watch.until(query, values);
    } finally {
      await watch.close();
    }
  }

  lastHeard(channel: string): number | undefined {
    return this.#notified.get(channel);
  }

  /**
   * Waits until the query answers `yes` as true. One caller at a time.
   * @returns when the notification of the change arrived that made it true, in milliseconds of `nowMs`
   */
  async until(query: string, values: readonly unknown[]): Promise<number> {
    const first = this.#count;
    const began = nowMs();
    for (;;) {
      const seen = this.#count;
      const at = seen === first ? nowMs() : (this.#notified.get(CHANNEL) ?? nowMs());
      const { rows } = await this.#client.query<{ yes: boolean }>(query, [...values]);
      if (rows[0]?.yes === true) return at;
      const left = PATIENCE_MS - (nowMs() - began);
      if (left <= 0) throw new Error(`not true in time: ${query}`);
      if (seen === this.#count) await this.#next(left);
    }
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  async #next(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }
}

// The names that a proxy resolves, for the DNS server of its launcher. They come from any control plane of the zone, as differences. A name
// is answered when the proxy's own Envoy has the listeners behind it. The last names are kept in a file: they are answered while no control
// plane is there, and after a new start.
import { readFile } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { aborted } from '../base/supervise.ts';
import type { ControlPlaneAddress } from './control-plane-address.ts';
import type { EnvoyAdmin } from './envoy-admin.ts';
import { NameRecords } from './name-records.ts';
import type { NameStreamEnd, NameStreamOptions } from './name-stream.ts';
import { writeWhole } from './write-whole.ts';

export type FollowedNamesOptions = Pick<NameStreamOptions, 'caCert' | 'mesh' | 'name'> & {
  /** At least one. They take turns. */
  readonly controlPlanes: readonly ControlPlaneAddress[];
  /** The token of now; `''` for none. */
  readonly token: () => Promise<string>;
  /** Of the Envoy that runs now; null while none does. */
  readonly admin: () => Pick<EnvoyAdmin, 'listeners'> | null;
  /** Where the names are kept. */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Follows one stream to its end; left out: over gRPC. */
  readonly followStream?: (options: NameStreamOptions) => Promise<NameStreamEnd>;
};

/** Pauses before the next stream. */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 10_000;
/** Pauses between two looks at the listeners of Envoy, while a name waits for some. */
const FIRST_LOOK_MS = 20;
const MAX_LOOK_MS = 5_000;
/** Milliseconds from a change to the file: changes in between share a write. */
const WRITE_MS = 500;

export class FollowedNames {
  readonly #options: FollowedNamesOptions;
  #records = new NameRecords();
  /** Aborts when a difference has come. */
  #news = new AbortController();
  #isKnown = false;
  #isChanged = false;
  #isWritten: Promise<void> = Promise.resolve();

  constructor(options: FollowedNamesOptions) {
    this.#options = options;
  }

  /** The addresses of a name; undefined for one that is not known, or leads nowhere yet. @param hostname in lower case, without a dot at its end */
  lookup(hostname: string): readonly string[] | undefined {
    return this.#records.lookup(hostname);
  }

  /** Whether the zone has ever sent its names, to this launcher or an earlier one. Before that an unknown name may exist. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** How many names are answered. */
  get size(): number {
    return this.#records.size;
  }

  /** Names that the zone has sent, and that wait for listeners of Envoy. */
  get waiting(): ReadonlySet<string> {
    return this.#records.waiting;
  }

  /** Reads the file of an earlier launcher. A file that cannot be read is none. */
  async open(): Promise<void> {
    const { file, log } = this.#options;
    try {
      this.#records = NameRecords.fromJson(JSON.parse(await readFile(file, 'utf8')));
      this.#isKnown = true;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOENT')
        log.warn({ file, reason: messageOf(error) }, 'the names of the last run cannot be read; they come from the zone');
    }
  }

  /** Keeps the names current until the signal aborts. Never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#followStreams(signal), this.#openNames(signal)]);
    await this.#isWritten;
    await this.#write();
  }

  async #followStreams(signal: AbortSignal): Promise<void> {
    const { controlPlanes, clock, log } = this.#options;
    let wait = FIRST_WAIT_MS;
    let said = '';
    for (let turn = 0; !signal.aborted; turn += 1) {
      const controlPlane = controlPlanes[turn % controlPlanes.length];
      if (controlPlane === undefined) return;
      const { reason, isServed, isUnknown } = await this.#followOne(controlPlane, signal);
      if (signal.aborted) return;
      if (isServed) {
        said = '';
        wait = FIRST_WAIT_MS;
      }
      const text = `${controlPlane.url}: ${reason}`;
      if (text !== said) log.warn({ controlPlane: controlPlane.url, reason, names: this.size }, advice(isUnknown));
      said = text;
      await clock.sleep(wait * (0.5 + Math.random() / 2), signal);
      wait = Math.min(wait * 2, MAX_WAIT_MS);
    }
  }

  async #followOne(controlPlane: ControlPlaneAddress, signal: AbortSignal): Promise<NameStreamEnd> {
    const { caCert, mesh, name, token, clock } = this.#options;
    try {
      // gRPC takes long to load, and most proxies are not redirected.
      const followStream = this.#options.followStream ?? (await import('./name-stream.ts')).followNames;
      const take: NameStreamOptions['take'] = (put, removed) => this.#take(put, removed);
      const own = { controlPlane, token: await token(), held: this.#records.versions, take };
      return await followStream({ caCert, mesh, name, clock, signal, ...own });
    } catch (error) {
      return { reason: messageOf(error), isServed: false, isUnknown: false };
    }
  }

  #take(...[put, removed]: Parameters<NameStreamOptions['take']>): void {
    this.#isKnown = true;
    this.#records.apply(put, removed);
    this.#keep();
    this.#news.abort();
    this.#news = new AbortController();
  }

  /** Looks at the listeners of Envoy while a name waits for some. */
  async #openNames(signal: AbortSignal): Promise<void> {
    const { admin, clock } = this.#options;
    let pause = FIRST_LOOK_MS;
    while (!signal.aborted) {
      const { signal: news } = this.#news;
      const places = this.#records.waiting.size === 0 ? null : ((await admin()?.listeners()) ?? null);
      if (places !== null && this.#records.open(places)) {
        this.#keep();
        pause = FIRST_LOOK_MS;
      }
      const either = AbortSignal.any([signal, news]);
      if (this.#records.waiting.size === 0) await aborted(either);
      else await clock.sleep(pause, either);
      pause = news.aborted ? FIRST_LOOK_MS : Math.min(pause * 1.5, MAX_LOOK_MS);
    }
  }

  /** The names of now go into the file a little later. */
  #keep(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    this.#options.clock.after(WRITE_MS, () => {
      this.#isWritten = this.#isWritten.then(async () => await this.#write());
    });
  }

  async #write(): Promise<void> {
    const { file, log } = this.#options;
    if (!this.#isChanged) return;
    this.#isChanged = false;
    await writeWhole(file, this.#records.toJson()).catch((error: unknown) =>
      log.warn(`${messageOf(error)}; after a new start the names come from the zone`),
    );
  }
}

function advice(isUnknown: boolean): string {
  return isUnknown
    ? 'this control plane sends no names; update it, or resolve the names of the mesh by other means'
    : 'the names of the mesh are not followed now; the last ones are answered';
}

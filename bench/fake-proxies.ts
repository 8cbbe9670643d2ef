// All fake proxies of a section, spread over processes, as one thing that can be waited for.
import type { XdsType } from '../src/ads/session-messages.ts';
import { Crew, parted } from './crew.ts';
import type { ProxiesCommand, ProxiesReport } from './fake-proxies-process.ts';

/** The time limit of one wait. */
const PATIENCE_MS = 120_000;

/** When the last proxy had everything, in milliseconds of `nowMs`, and how many resources all received. */
type Warm = { readonly at: number; readonly received: number };

export class FakeProxies {
  readonly #crew: Crew<ProxiesCommand, ProxiesReport>;

  private constructor(crew: Crew<ProxiesCommand, ProxiesReport>) {
    this.#crew = crew;
  }

  static async start(names: readonly string[], processes: number): Promise<FakeProxies> {
    return new FakeProxies(await Crew.start('fake-proxies-process.ts', parted(names, Math.ceil(names.length / processes))));
  }

  /** @param bring the Dataplane of a proxy as JSON, where the proxies bring them */
  async join(port: number, mesh: string, bring: ((name: string) => string) | null = null): Promise<Warm> {
    return await this.#warm((names) => {
      const proxies = names.map((name) => ({ name, dataplane: bring === null ? null : bring(name) }));
      return { kind: 'join', port, mesh, proxies };
    });
  }

  /** The same with what they hold. */
  async rejoin(port: number): Promise<Warm> {
    return await this.#warm(() => ({ kind: 'rejoin', port }));
  }

  watch(type: XdsType, name: string): void {
    this.#crew.tell(() => ({ kind: 'watch', type, name }));
  }

  /** @returns when the last proxy had received the watched resource so often, in milliseconds of `nowMs` */
  async received(count: number): Promise<number> {
    const hasIt = (report: ProxiesReport): number | null =>
      report.kind === 'received' && report.count >= count ? report.at : null;
    return Math.max(...(await this.#crew.each(null, hasIt, PATIENCE_MS)));
  }

  async end(): Promise<void> {
    await this.#crew.end();
  }

  async #warm(commandOf: (names: readonly string[]) => ProxiesCommand): Promise<Warm> {
    const isWarm = (report: ProxiesReport): Warm | null => (report.kind === 'warm' ? report : null);
    const warm = await this.#crew.each(commandOf, isWarm, PATIENCE_MS);
    return { at: Math.max(...warm.map(({ at }) => at)), received: warm.reduce((sum, { received }) => sum + received, 0) };
  }
}

// All fake proxies of a section, spread over processes, as one thing that can be waited for.
import type { ChildProcess } from 'node:child_process';
import type { XdsType } from '../src/ads/session-messages.ts';
import { endChild, nextMessage, startScript } from './children.ts';
import type { ProxiesCommand, ProxiesReport } from './fake-proxies-process.ts';

/** The time limit of one wait. */
const PATIENCE_MS = 120_000;

type Member = { readonly child: ChildProcess; readonly names: readonly string[] };

export class FakeProxies {
  readonly #members: readonly Member[];

  private constructor(members: readonly Member[]) {
    this.#members = members;
  }

  static async start(names: readonly string[], processes: number): Promise<FakeProxies> {
    const members = Array.from({ length: processes }, (_, index) => ({
      child: startScript('fake-proxies-process.ts'),
      names: names.filter((_name, at) => at % processes === index),
    }));
    await Promise.all(members.map(({ child }) => nextMessage(child)));
    return new FakeProxies(members);
  }

  /**
   * @param bring the Dataplane of a proxy as JSON, where the proxies bring them
   * @returns when the last proxy had everything, in milliseconds of `nowMs`, and how many resources all received
   */
  async join(
    port: number,
    mesh: string,
    bring: ((name: string) => string) | null = null,
  ): Promise<{ at: number; received: number }> {
    return await this.#warm(({ child, names }) => {
      const proxies = names.map((name) => ({ name, dataplane: bring === null ? null : bring(name) }));
      child.send({ kind: 'join', port, mesh, proxies } satisfies ProxiesCommand);
    });
  }

  /** The same with what they hold. */
  async rejoin(port: number): Promise<{ at: number; received: number }> {
    return await this.#warm(({ child }) => child.send({ kind: 'rejoin', port } satisfies ProxiesCommand));
  }

  watch(type: XdsType, name: string): void {
    for (const { child } of this.#members) child.send({ kind: 'watch', type, name } satisfies ProxiesCommand);
  }

  /** @returns when the last proxy had received the watched resource so often, in milliseconds of `nowMs` */
  async received(count: number): Promise<number> {
    const what = `a change, the ${String(count)}th since it is counted`;
    const reports = await this.#each(what, (report) => (report.kind === 'received' && report.count >= count ? report.at : null));
    return Math.max(...reports);
  }

  async end(): Promise<void> {
    await Promise.all(this.#members.map(({ child }) => endChild(child)));
  }

  async #warm(start: (member: Member) => void): Promise<{ at: number; received: number }> {
    const reports = this.#each('all their resources', (report) => (report.kind === 'warm' ? report : null));
    for (const member of this.#members) start(member);
    const warm = await reports;
    return { at: Math.max(...warm.map(({ at }) => at)), received: warm.reduce((sum, { received }) => sum + received, 0) };
  }

  /** What each process reports first that fits. @throws Error when one ends or takes too long */
  async #each<T>(what: string, fits: (report: ProxiesReport) => T | null): Promise<T[]> {
    return await Promise.all(
      this.#members.map(
        ({ child }) =>
          new Promise<T>((resolve, reject) => {
            const settle = (then: () => void): void => {
              clearTimeout(timer);
              child.off('message', take);
              child.off('exit', onExit);
              then();
            };
            const take = (report: ProxiesReport): void => {
              const found = fits(report);
              if (found !== null) settle(() => resolve(found));
            };
            const onExit = (): void => settle(() => reject(new Error('a process of fake proxies ended')));
            const timer = setTimeout(() => settle(() => reject(new Error(`not all proxies had ${what}, in time`))), PATIENCE_MS);
            child.on('message', take);
            child.once('exit', onExit);
          }),
      ),
    );
  }
}

// Envoys of a proxy, one after the other: each is started with the bootstrap, watched, started again when it ends, and drained when the
// proxy stops. Invariant: no Envoy is left running.
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { aborted } from '../base/supervise.ts';
import type { JsonObject } from '../resource/types.ts';
import { askBootstrap, askOnce, type BootstrapQuestion } from './ask-bootstrap.ts';
import { adminAddressOf, runOf, withControlPlanes } from './bootstrap.ts';
import type { ControlPlaneAddress } from './control-plane-address.ts';
import { EnvoyAdmin } from './envoy-admin.ts';
import { EnvoyProcess, type EnvoyEnd, type EnvoyOptions } from './envoy-process.ts';
import { sayLeave } from './say-leave.ts';
import { withTokenFile } from './token-file.ts';
import { readDataplaneToken, type TokenSource } from './trust.ts';
import type { WorkFolder } from './work-folder.ts';

export type SupervisorOptions = Omit<EnvoyOptions, 'config'> & {
  readonly mesh: string;
  readonly name: string;
  /** With the namespace in the labels of its document. */
  readonly storedName: string;
  /** At least one. */
  readonly controlPlanes: readonly ControlPlaneAddress[];
  /** PEM of the CA of the control planes; `''` for those that the system trusts. */
  readonly caCert: string;
  readonly token: TokenSource;
  /** Whether the work folder has a file with the token, which Envoy reads. */
  readonly hasTokenFile: boolean;
};

export type ProxyContext = {
  readonly clock: Clock;
  readonly log: Logger;
  /** Drain, then stop. */
  readonly stop: AbortSignal;
  /** Stop at once. */
  readonly kill: AbortSignal;
};

/** Pauses before an Envoy that ended is started again. */
const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 10_000;
/** An Envoy that ran longer was a good one: the next pause is the first again. */
const GOOD_RUN_MS = 30_000;
const POLL_MS = 50;
/** A proxy that is not ready after this time says why, and again after each such time. */
const SLOW_MS = 10_000;
/** Envoy ends in this time after SIGTERM, or is killed. */
const END_MS = 5_000;

export class EnvoySupervisor {
  readonly #options: SupervisorOptions;
  readonly #context: ProxyContext;
  readonly #folder: WorkFolder;
  #admin: EnvoyAdmin | null = null;

  constructor(options: SupervisorOptions, context: ProxyContext, folder: WorkFolder) {
    this.#options = options;
    this.#context = context;
    this.#folder = folder;
  }

  /** Of the Envoy that runs now. */
  get admin(): EnvoyAdmin | null {
    return this.#admin;
  }

  /** Null when requests may come. */
  readonly whyNotReady = async (): Promise<string | null> => {
    if (this.#context.stop.aborted) return 'DRAINING';
    return this.#admin === null ? 'no Envoy runs yet' : await this.#admin.whyNotReady();
  };

  /** Runs Envoys until `stop` aborts, and tells the control planes when the last one has ended. */
  async run(question: () => Promise<BootstrapQuestion>): Promise<void> {
    const { clock, log, stop } = this.#context;
    const first = await askBootstrap(question, { clock, log, signal: stop });
    if (first === null) return;
    const run = await this.#runUntilStopped(first, question);
    await this.#say('ended', run);
    log.info('stopped');
  }

  /**
   * Starts one Envoy after the other until `stop` aborts: while one runs, in the pause after it, or before the first.
   * @returns the run of the last one, which has ended; `''` when none was started
   */
  async #runUntilStopped(first: JsonObject, question: () => Promise<BootstrapQuestion>): Promise<string> {
    const { clock, log, stop } = this.#context;
    let bootstrap = first;
    let run = '';
    let wait = FIRST_WAIT_MS;
    for (let starts = 1; !stop.aborted; starts += 1) {
      await this.#writeBootstrap(bootstrap).catch((error: unknown) => {
        if (starts === 1) throw error;
        log.warn(`${messageOf(error)}; Envoy starts with the bootstrap that it had`);
      });
      if (stop.aborted) break;
      run = runOf(bootstrap);
      const began = clock.elapsed();
      const end = await this.#runOnce(bootstrap, starts);
      if (end === null || stop.aborted) break;
      if (clock.elapsed() - began > GOOD_RUN_MS) wait = FIRST_WAIT_MS;
      const pause = wait * (0.5 + Math.random() / 2);
      log.warn({ end: end.how, waitMs: Math.round(pause), starts }, 'Envoy ended; starting it again');
      await clock.sleep(pause, stop);
      wait = Math.min(wait * 2, MAX_WAIT_MS);
      bootstrap = await this.#askAgain(question, bootstrap);
    }
    return run;
  }

  async #writeBootstrap(bootstrap: JsonObject): Promise<void> {
    const { controlPlanes, hasTokenFile } = this.#options;
    const spread = withControlPlanes(bootstrap, controlPlanes);
    await this.#folder.writeBootstrap(hasTokenFile ? withTokenFile(spread, this.#folder.tokenFile) : spread);
  }

  /** The token may be a new one. A control plane that does not answer now must not keep the proxy away. */
  async #askAgain(question: () => Promise<BootstrapQuestion>, last: JsonObject): Promise<JsonObject> {
    const { clock, log, stop } = this.#context;
    if (stop.aborted) return last;
    try {
      const answer = await askOnce(await question(), { clock, signal: stop });
      if (!('kind' in answer)) return answer.bootstrap;
      if (!stop.aborted) log.warn(`${answer.reason}; Envoy starts with the bootstrap that it had`);
    } catch (error) {
      log.warn(`${messageOf(error)}; Envoy starts with the bootstrap that it had`);
    }
    return last;
  }

  /**
   * One Envoy from its start to its end.
   * @returns how it ended by itself; null when it was stopped
   * @throws MeridianError `config` when the first one ends before it answers: its configuration or its arguments are wrong
   */
  async #runOnce(bootstrap: JsonObject, starts: number): Promise<EnvoyEnd | null> {
    const { clock, log, stop, kill } = this.#context;
    const options = { ...this.#options, config: this.#folder.configFile };
    const admin = new EnvoyAdmin(adminAddressOf(bootstrap), clock);
    const over = new AbortController();
    const envoy = await EnvoyProcess.start(options, this.#folder.path, log);
    const killNow = (): void => envoy.kill('SIGKILL');
    try {
      kill.addEventListener('abort', killNow);
      this.#admin = admin;
      const watching = this.#watchStart(admin, over.signal);
      const end = await Promise.race([envoy.ended, aborted(AbortSignal.any([stop, over.signal]))]);
      over.abort();
      await watching;
      if (end === undefined) {
        await this.#drain(envoy, admin, runOf(bootstrap));
        return null;
      }
      if (starts === 1 && !admin.hasAnswered && end.code !== null)
        throw new MeridianError(
          'config',
          `Envoy ended with ${end.how} before it answered${envoy.lastFault === '' ? '' : `: ${envoy.lastFault}`}`,
        );
      return end;
    } finally {
      over.abort();
      this.#admin = null;
      kill.removeEventListener('abort', killNow);
      envoy.kill('SIGKILL');
    }
  }

  /** Says when the proxy is ready, and why it is not after some time. */
  async #watchStart(admin: EnvoyAdmin, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#context;
    const began = clock.elapsed();
    let said = began;
    while (!signal.aborted) {
      const reason = await admin.whyNotReady();
      if (signal.aborted) break;
      const now = clock.elapsed();
      if (reason === null) {
        log.info({ afterMs: Math.round(now - began) }, 'the proxy is ready');
        break;
      }
      if (now - said >= SLOW_MS) {
        log.warn({ afterMs: Math.round(now - began) }, `the proxy is not ready: ${reason}`);
        said = now;
      }
      await clock.sleep(POLL_MS, signal);
    }
  }

  /** Clients stop sending requests, and connections are asked to close for the drain time; then Envoy ends. */
  async #drain(envoy: EnvoyProcess, admin: EnvoyAdmin, run: string): Promise<void> {
    const { drainMs } = this.#options;
    if (drainMs > 0) await this.#say('draining', run);
    if (drainMs > 0 && (await admin.drain())) {
      this.#context.log.info({ drainMs }, 'draining; a second signal stops at once');
      await this.#endsWithin(envoy, drainMs);
    }
    envoy.kill('SIGTERM');
    if (!(await this.#endsWithin(envoy, END_MS))) {
      envoy.kill('SIGKILL');
      await envoy.ended;
    }
  }

  /** Tells the control planes how far the end of the proxy is. Those that name no run are not told: they do not know the message. */
  async #say(state: 'draining' | 'ended', run: string): Promise<void> {
    const { mesh, storedName: name, controlPlanes: addresses, caCert: ca } = this.#options;
    if (run === '') return;
    const token = await readDataplaneToken(this.#options.token).catch(() => '');
    await sayLeave({ addresses, ca, mesh, name, run, token }, state, this.#context);
  }

  async #endsWithin(envoy: EnvoyProcess, ms: number): Promise<boolean> {
    const over = new AbortController();
    let hasEnded = false;
    const ended = envoy.ended.then(() => {
      hasEnded = true;
      over.abort();
    });
    await Promise.race([ended, this.#context.clock.sleep(ms, over.signal)]);
    return hasEnded;
  }
}

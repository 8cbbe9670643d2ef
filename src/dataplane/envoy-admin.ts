// The admin interface of an Envoy: is it ready, and drain. Each call is bounded in time and size.
import { request, type ClientRequest, type RequestOptions } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { httpAnswer } from '../base/http-answer.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { AdminAddress } from './bootstrap.ts';

type AdminAnswer = { readonly status: number; readonly text: string };

const LIMIT_MS = 2_000;
const MAX_BYTES = 1024 * 1024;
/** A listener has about 200 bytes. */
const MAX_LISTENERS_BYTES = 32 * 1024 * 1024;
const READY_STATS = String.raw`^(listener_manager\.(workers_started|lds\.update_success)|control_plane\.connected_state)$`;

export class EnvoyAdmin {
  readonly #address: AdminAddress;
  readonly #clock: Clock;
  #hasAnswered = false;

  constructor(address: AdminAddress, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
  }

  /** The start of a request for a page, for the caller to read. */
  open(method: string, path: string): ClientRequest {
    return request(this.#target(method, path));
  }

  /**
   * Whether Envoy takes requests: it is live, has got its listeners, and its workers listen.
   * @returns null if so, else the reason in words
   */
  async whyNotReady(): Promise<string | null> {
    const ready = await this.#call('GET', '/ready');
    if (ready === null) return 'Envoy does not answer yet';
    if (ready.status === 200) {
      const stats = await this.#stats();
      if (stats.get('listener_manager.workers_started') === 0) return 'Envoy has not started its workers';
      if (stats.get('listener_manager.lds.update_success') === 0) return 'Envoy has not taken any listeners';
      return null;
    }
    const state = `Envoy is ${ready.text.trim().slice(0, 40)}`;
    if ((await this.#stats()).get('control_plane.connected_state') === 0) return `${state}: it has no stream to a control plane`;
    return `${state}: it waits for its configuration`;
  }

  /** Names of the listeners that take connections: a new one is among them when it has its filters and routes. Null without an answer. */
  async listeners(): Promise<ReadonlySet<string> | null> {
    const answer = await this.#call('GET', '/listeners?format=json', MAX_LISTENERS_BYTES);
    return answer?.status === 200 ? listenersIn(answer.text) : null;
  }

  /** Whether this Envoy has ever answered: it took its configuration. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Answers say `connection: close` from now on, and health checks fail. New connections are taken until the process ends. */
  async drain(): Promise<boolean> {
    const failed = await this.#call('POST', '/healthcheck/fail');
    const drained = await this.#call('POST', '/drain_listeners?graceful&skip_exit');
    return failed?.status === 200 && drained?.status === 200;
  }

  /** Empty when Envoy does not answer. */
  async #stats(): Promise<ReadonlyMap<string, number>> {
    const answer = await this.#call('GET', `/stats?filter=${encodeURIComponent(READY_STATS)}`);
    const lines = (answer?.text ?? '').matchAll(/^(\S+): (\d+)$/gm);
    return new Map([...lines].map(([, name = '', value]) => [name, Number(value)]));
  }

  async #call(method: string, path: string, maxBytes = MAX_BYTES): Promise<AdminAnswer | null> {
    const calling = request(this.#target(method, path));
    const cancel = this.#clock.after(LIMIT_MS, () => calling.destroy());
    try {
      const { status, body } = await httpAnswer(calling, maxBytes);
      this.#hasAnswered = true;
      return body === null ? null : { status, text: body.toString('utf8') };
    } catch {
      return null;
    } finally {
      cancel();
    }
  }

  #target(method: string, path: string): RequestOptions {
    return { method, path, agent: false, ...this.#address };
  }
}

function listenersIn(text: string): ReadonlySet<string> | null {
  try {
    return new Set(objectsOf(objectOf(JSON.parse(text))['listener_statuses']).map(({ name }) => textOf(name)));
  } catch {
    return null;
  }
}

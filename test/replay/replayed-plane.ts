// A Meridian control plane in place of a recorded one: its store, changelog, senders and receivers get the messages of the recorded
// peers. Invariant: every promise of this file resolves when nothing is in flight.
import { systemClock } from '../../src/base/clock.ts';
import { following } from '../support/following.ts';
import { createLogger } from '../../src/base/log.ts';
import { KnownZones } from '../../src/peering/known-zones.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { globalReceiveRules, globalSendRules, zoneReceiveRules, zoneSendRules } from '../../src/kds/protocol/rules.ts';
import { Sender } from '../../src/kds/sender/sender.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import type { DeltaResponse } from '../../src/wire/kds-messages.ts';
import { Traffic } from '../golden/traffic.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { frames, senderOf, type Frame, type OpenFrame, type Side, type Zone } from './recording.ts';
import { ReplayedSender } from './replayed-sender.ts';
import { startOf, stepsOf, type Row, type Step } from './start-state.ts';

const log = createLogger('silent');

export class ReplayedPlane {
  readonly store = new TinyStore();
  /** Requests of our receivers, as bytes, by zone. */
  readonly requests: Record<Zone, Buffer[]> = { 'zone-1': [], 'zone-2': [] };
  /** Lines of recorded answers without a response of ours. */
  readonly unexpected: number[] = [];
  /** Why our side ended a stream. */
  readonly #failures: Error[] = [];
  readonly #side: Side;
  readonly #traffic = new Traffic();
  readonly #stop = new AbortController();
  readonly #registry: KnownZones;
  readonly #changelog: Changelog;
  readonly #initialSyncLimiter = new InitialSyncLimiter(systemClock);
  readonly #senders = new Map<Zone, ReplayedSender>();
  readonly #receivers = new Map<Zone, Receiver>();
  #running: Promise<void>[] = [];

  private constructor(side: Side) {
    this.#side = side;
    this.#traffic.watch(this.store);
    this.#registry = new KnownZones(this.store, following);
    const rules = side === 'global' ? globalSendRules() : zoneSendRules({ zone: side });
    this.#changelog = new Changelog(this.store, rules, log);
    this.#registry.onChange((change) => this.#changelog.touchZone(change));
  }

  /** With the rows of the recorded store, and `more`. */
  static async start(side: Side, more: readonly Row[] = []): Promise<ReplayedPlane> {
    const plane = new ReplayedPlane(side);
    for (const { labels, spec, status, ...key } of [...startOf(side), ...more])
      await plane.store.write({ op: 'create', key, labels, spec, status });
    const { signal } = plane.#stop;
    plane.#running = [plane.#changelog.run(signal), plane.#registry.run(signal)];
    await Promise.all([plane.#changelog.ready, plane.#registry.loaded]);
    return plane;
  }

  /**
   * Feeds the messages of the recorded peers between two lines, and applies the changes to the store.
   * @param afterFrame called with each frame, at rest
   */
  async play({ from = 1, to = frames.length } = {}, afterFrame?: (frame: Frame) => Promise<void>): Promise<void> {
    const steps = stepsOf(this.#side);
    for (const frame of frames.slice(from - 1, to)) {
      for (const step of steps) if (step.at === frame.line) await this.apply(step);
      if (this.#side !== 'global' && frame.zone !== this.#side) continue;
      if (frame.kind !== 'open' && senderOf(frame) === this.#side) continue;
      await this.feed(frame);
      await afterFrame?.(frame);
    }
  }

  async feed(frame: Frame): Promise<void> {
    if (frame.kind === 'open') await this.#open(frame);
    else if (frame.kind === 'response') await this.hear(frame.zone, frame.response);
    else if (!this.#senderTo(frame.zone).feed(frame.request)) this.unexpected.push(frame.line);
    await this.#traffic.rest();
  }

  /** Takes one response on the stream of a zone. */
  async hear(zone: Zone, response: DeltaResponse): Promise<void> {
    const receiver = this.#receivers.get(zone);
    if (receiver === undefined) throw new Error(`no stream of ${zone} is open for responses`);
    await receiver.handle(response);
    await this.#traffic.rest();
  }

  async apply(step: Step): Promise<void> {
    if (step.delete !== undefined) await this.store.write({ op: 'delete', key: step.delete });
    if (step.put !== undefined) {
      const { labels, spec, status, ...key } = step.put;
      const stored = await this.store.get(key);
      await this.store.write({
        ...{ op: 'put', key, labels: labels ?? stored?.labels ?? {}, spec: spec ?? stored?.spec ?? {}, status },
      });
    }
    await this.#traffic.rest();
  }

  /** The messages of our side on the stream of a zone. */
  sentTo(zone: Zone): readonly DeltaResponse[] {
    return this.#senderTo(zone).sent;
  }

  /**
   * Answers the messages that the recording leaves unanswered.
   * @returns the types with an incomplete state on a peer after that
   * @throws Error when our side ended a stream
   */
  async settle(): Promise<string[]> {
    const senders = [...this.#senders];
    await this.#traffic.rest();
    while (senders.map(([zone, sender]) => sender.acknowledgeRest(zone)).includes(true)) await this.#traffic.rest();
    for (const failure of this.#failures) throw failure;
    return senders.flatMap(([, sender]) => sender.behind());
  }

  async close(): Promise<void> {
    for (const sender of this.#senders.values()) sender.close();
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  /** The streams of a zone: we are the sender on one and the receiver on the other. */
  async #open({ zone, rpc }: OpenFrame): Promise<void> {
    const isGlobal = this.#side === 'global';
    if (isGlobal) await this.#registry.ensure(zone);
    const common = { streamId: rpc, maxMessageBytes: 10_485_760, observe: () => undefined, log, clock: systemClock };
    if (isGlobal === (rpc === 'GlobalToZoneSync')) {
      this.#senders.get(zone)?.close();
      const more = {
        changelog: this.#changelog,
        initialSyncLimiter: this.#initialSyncLimiter,
        zones: isGlobal ? this.#registry : null,
        fail: (error: Error) => void this.#failures.push(error),
      };
      const sender = new ReplayedSender((send) => new Sender({ ...common, ...more, peer: zone, identifier: this.#side, send }));
      this.#senders.set(zone, sender);
      return;
    }
    const receiver = new Receiver({
      ...common,
      zone,
      peer: isGlobal ? zone : 'global',
      rules: isGlobal ? globalReceiveRules(zone, { hashedNames: true }) : zoneReceiveRules(),
      store: this.store,
      node: { version: '0-preview', instanceId: this.#side, config: '' },
      // A Kuma peer does not have this capability.
      resume: false,
      validate: validateResource,
      send: (message) => void this.requests[zone].push(message),
    });
    this.#receivers.set(zone, receiver);
    await receiver.start();
  }

  #senderTo(zone: Zone): ReplayedSender {
    const sender = this.#senders.get(zone);
    if (sender === undefined) throw new Error(`no stream of ${zone} is open for requests`);
    return sender;
  }
}

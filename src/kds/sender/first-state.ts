// The first state of one stream: the versions that the peer names, the permit to send it, and whether the peer has answered all
// of it.
import type { Entering, InitialSyncLimiter, Permit } from '../admission/initial-sync-limiter.ts';

/**
 * A zone that knows its cluster asks for this type first, alone and without versions, to check whose global it reached (engine 14). It
 * says nothing of the state that it asks for then.
 */
const ASKED_ALONE = 'Config';

export type FirstStateOptions = {
  readonly peer: string;
  readonly initialSyncLimiter: Pick<InitialSyncLimiter, 'enter'>;
  /** It is called when the peer has answered a response of its first state. @param isSettled whether it has all of it */
  readonly answered?: (isSettled: boolean) => void;
  /** It is called when the full state of the peer waits for this number of milliseconds. */
  readonly delayed?: (waitMs: number) => void;
};

/** A subscription of the peer. */
export type Asked = {
  readonly type: string;
  /** The peer named the versions that it has. */
  readonly hasVersions: boolean;
  /** The number of resources of the type. */
  readonly resources: number;
  /** The peer has asked for the type on this stream before. */
  readonly isAgain: boolean;
};

/** `waiting`: the peer may be sent nothing yet; `sending`: its first state; `done`: it has answered all of that. */
export type Phase = 'waiting' | 'sending' | 'done';

export class FirstState {
  readonly #options: FirstStateOptions;
  readonly #onPhase: (phase: Phase) => void;
  #phase: Phase = 'waiting';
  /** It is null until the peer subscribes. */
  #permit: Permit | null = null;
  #isAsked = false;
  /** The versions that the peer has named; `unknown` while no type has resources. */
  #versions: Entering['versions'] = 'unknown';

  /** @param onPhase is called with each new phase, at once or later */
  constructor(options: FirstStateOptions, onPhase: (phase: Phase) => void) {
    this.#options = options;
    this.#onPhase = onPhase;
  }

  /** Whether the peer has asked for more than what tells it whose global it reached. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** The peer subscribes to a type: it waits for a permit, and again if it asks for everything again or had everything before. */
  asked({ type, hasVersions, resources, isAgain }: Asked): void {
    if (type !== ASKED_ALONE) this.#isAsked = true;
    const isFull = type !== ASKED_ALONE && this.#hear(hasVersions, resources);
    if (isAgain || isFull || this.#phase === 'done') this.#giveBack();
    if (this.#permit === null) this.#enter();
  }

  /** A message of this many bytes was sent of the first state. */
  sent(bytes: number): void {
    this.#permit?.sent(bytes);
  }

  /** The peer has answered a part of its first state. @param isSettled whether it has answered everything */
  answered(isSettled: boolean): void {
    this.#permit?.progress();
    const isDone = isSettled && this.#phase !== 'waiting';
    if (isDone) {
      this.#permit?.leave();
      this.#enterPhase('done');
    }
    this.#options.answered?.(isDone);
  }

  /** The stream has ended. */
  close(): void {
    this.#permit?.leave();
  }

  /**
   * A peer that names no version of the first type that has resources asks for its full state.
   * @returns whether it shows so now
   */
  #hear(hasVersions: boolean, resources: number): boolean {
    if (hasVersions) this.#versions = 'some';
    else if (resources > 0 && this.#versions === 'unknown') {
      this.#versions = 'none';
      return true;
    }
    return false;
  }

  #giveBack(): void {
    this.#permit?.leave();
    this.#permit = null;
    this.#enterPhase('waiting');
  }

  #enterPhase(phase: Phase): void {
    this.#phase = phase;
    this.#onPhase(phase);
  }

  #enter(): void {
    const { initialSyncLimiter, peer, delayed } = this.#options;
    this.#permit = initialSyncLimiter.enter(peer, () => this.#enterPhase('sending'), {
      versions: this.#versions,
      ...(delayed !== undefined && { onWait: delayed }),
    });
  }
}

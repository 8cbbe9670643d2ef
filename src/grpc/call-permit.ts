// One call on a connection. It takes a permit of its address before it is handled, and the permit is kept if the call is refused.
// Invariant: a call keeps one permit at most, whatever is said of it.
import type { AddressLimiter, WaitingCall } from './address-limiter.ts';
import { canceled, exhausted, type StatusError } from './status.ts';

/** The connection of a call. */
export type CallingConnection = {
  readonly limiter: AddressLimiter;
  /** The functions that end the waits of calls, with an error or without a permit. */
  readonly waiting: Set<(error: StatusError | null) => void>;
  /** A call of the connection was refused: few others of it may wait. */
  hadRefusal: boolean;
  /** The connection waited for a permit before it was taken, and its first call has this permit. */
  hasPermit: boolean;
  /** A stream of the connection was admitted: its calls need no permit. */
  isTrusted: boolean;
  isClosed: boolean;
  /** Closes the connection, because too many calls wait. */
  readonly hangUp: () => void;
};

export type CallPermit = {
  /**
   * Resolves when the call may be handled. Call it once.
   * @throws StatusError RESOURCE_EXHAUSTED when too many calls wait, which closes the connection, and when the connection closes;
   * CANCELLED when the caller has left
   */
  readonly take: () => Promise<void>;
  /** Call it when the caller has left. A call that waits does not begin; one that has begun goes on. */
  readonly leave: () => void;
  /** Call it when the call costs its address nothing: its caller is known, or has left, or this process failed. */
  readonly giveBack: () => void;
  /**
   * Call it when the call was refused because of the caller, before it had a permit, in its permit, or after it gave the permit
   * back.
   */
  readonly refuse: () => void;
  /** Call it when the call is a stream that was admitted: the calls of its connection need no permits. */
  readonly admit: () => void;
};

/** The number of calls of one connection that may wait once one of it was refused. A zone opens fewer. */
const MAX_WAITING_OF_CONNECTION = 16;

/** The state of a connection that has just come. */
export function callingConnection(limiter: AddressLimiter, hangUp: () => void): CallingConnection {
  return { limiter, waiting: new Set(), hadRefusal: false, hasPermit: false, isTrusted: false, isClosed: false, hangUp };
}

/** @param connection null for a connection that is closed already */
export function callPermit(connection: CallingConnection | null): CallPermit {
  return connection === null ? NO_PERMIT : permitOn(connection);
}

// All calls share one error: its stack was the largest single part of the cost of such an end.
const TOO_MANY = exhausted('too many calls from this address were refused');
const CLOSED = exhausted('the connection was closed');
const LEFT = canceled('the caller has left');

const NO_PERMIT: CallPermit = {
  take: async () => {
    throw CLOSED;
  },
  leave: () => undefined,
  giveBack: () => undefined,
  refuse: () => undefined,
  admit: () => undefined,
};

function permitOn(connection: CallingConnection): CallPermit {
  const { limiter, waiting } = connection;
  /** A call that is `over` costs nothing more, whatever is said of it. */
  let state: 'none' | 'taken' | 'over' = 'none';
  let endWait: ((error: StatusError) => void) | null = null;
  const wait = (resolve: () => void, reject: (error: StatusError) => void): void => {
    const end = (error: StatusError | null): void => {
      limiter.leave(call);
      waiting.delete(end);
      endWait = null;
      if (error === null) return resolve();
      state = 'over';
      reject(error);
    };
    const call: WaitingCall = {
      mayGiveBack: true,
      begin: () => {
        state = 'taken';
        end(null);
      },
      refuse: () => {
        end(TOO_MANY);
        connection.hangUp();
      },
    };
    waiting.add(end);
    endWait = end;
    limiter.take(call);
  };
  const giveBack = (): void => {
    if (state !== 'taken') return;
    state = 'none';
    limiter.end(false);
  };
  return {
    take: async () => {
      if (connection.isClosed) throw CLOSED;
      if (state === 'over') throw LEFT;
      if (connection.isTrusted) return;
      if (connection.hasPermit) {
        connection.hasPermit = false;
        limiter.inherit();
        state = 'taken';
      } else if (connection.hadRefusal && waiting.size >= MAX_WAITING_OF_CONNECTION) {
        connection.hangUp();
        throw TOO_MANY;
      } else await new Promise<void>(wait);
    },
    leave: () => {
      if (state !== 'none') return;
      state = 'over';
      endWait?.(LEFT);
    },
    giveBack,
    refuse: () => {
      if (connection.isTrusted) return giveBack();
      if (state === 'taken') limiter.end(true);
      if (state === 'none') limiter.spend();
      state = 'over';
      connection.hadRefusal = true;
      if (waiting.size > MAX_WAITING_OF_CONNECTION) connection.hangUp();
    },
    admit: () => {
      giveBack();
      connection.isTrusted = true;
      for (const end of waiting) end(null);
    },
  };
}

/** Ends the waits of the calls of a connection that closes. */
export function endWaits(connection: CallingConnection): void {
  connection.isClosed = true;
  for (const end of connection.waiting) end(CLOSED);
}

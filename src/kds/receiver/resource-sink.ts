// The sink into which a receiver puts the resources of its peer. It decides when the receiver answers. By default it stores each
// response and answers it at once.
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Work } from './diff-response.ts';
import type { Kept, PeerRows } from './peer-rows.ts';
import type { NackedResource } from '../protocol/nack.ts';

/** Whether a part of the full state of a type is still expected. */
export type AwaitsFullState = (type: string) => boolean;

export interface ResourceSink {
  /** Returns true if each stream begins with the full state of the type, also of a peer that could send the difference. */
  needsFullState(type: string): boolean;
  /**
   * Returns false if a response must be dropped without an answer: the sink subscribes to the type again later.
   * @param resources the number of resources that it names
   */
  admits(type: string, resources: number, isFullState: boolean): boolean;
  keep(info: TypeInfo, work: Work, refusedBefore: readonly NackedResource[]): Promise<Kept>;
  /**
   * Calls `send` once, when the peer may send the next response of the type.
   * @param written the number of written rows of the response
   */
  answer(type: string, written: number, send: () => void): void;
  /** A response of the type was kept and reported. */
  kept(type: string, awaits: AwaitsFullState): Promise<void>;
  /** The peer has nothing new of the type. */
  inStep(type: string, awaits: AwaitsFullState): Promise<void>;
  /** The stream has ended. */
  close(): void;
}

/** The parts of a receiver that its sink uses. */
export type SinkOwner = {
  readonly rows: PeerRows;
  /** Subscribes to a type again: the peer sends the difference to the stored rows. */
  readonly subscribeAgain: (type: string) => void;
};

/** Stores everything at once. */
export function storeSink({ rows }: SinkOwner): ResourceSink {
  return {
    needsFullState: () => false,
    admits: () => true,
    keep: (info, work, refusedBefore) => rows.keep(info, work, refusedBefore),
    answer: (_type, _written, send) => send(),
    kept: () => Promise.resolve(),
    inStep: () => Promise.resolve(),
    close: () => undefined,
  };
}

// The life of one stream of a zone: when it may open, why it is over, and what it gives back.
import { EventEmitter } from 'node:events';
import { status as code } from '@grpc/grpc-js';
import { expect, it, vi } from 'vitest';
import { createLogger } from '../../base/log.ts';
import { MeridianError } from '../../base/errors.ts';
import type { CallPermit } from '../../grpc/call-permit.ts';
import { StatusError } from '../../grpc/status.ts';
import { StreamLife, type Call } from './stream-life.ts';
import type { Caller } from '../protocol/peer-metadata.ts';

const leave = vi.fn();
const PERMIT = { leave } as unknown as CallPermit;

class PlayedCall extends EventEmitter {
  cancelled = false;
  destroyed = false;
  readonly errors: StatusError[] = [];
  readonly note = (error: StatusError): void => void this.errors.push(error);

  constructor() {
    super();
    this.on('error', this.note);
  }

  cancel(): void {
    this.cancelled = true;
    this.emit('cancelled');
  }
}

function begin(): { call: PlayedCall; life: StreamLife } {
  const call = new PlayedCall();
  const caller = { zone: 'east' } as unknown as Caller;
  return {
    call,
    life: new StreamLife('globalToZone', call as unknown as Call, caller, PERMIT, createLogger('silent')),
  };
}

it('a stream has an id of its own, its zone and its permit', () => {
  const { life } = begin();
  expect([life.stream.zone, life.stream.kind, life.permit]).toEqual(['east', 'globalToZone', PERMIT]);
  expect(life.stream.streamId).not.toBe(begin().life.stream.streamId);
  expect([life.isOpen, life.isOver]).toEqual([false, false]);
});

it('a stream ends once, with the status of its first error', () => {
  const { call, life } = begin();
  life.stream.end(new MeridianError('forbidden', 'no token'));
  life.stream.end(new Error('later'));
  expect(call.errors.map(({ code: status, details }) => [status, details])).toEqual([[code.UNAUTHENTICATED, 'no token']]);
  expect([life.isOver, life.reason]).toEqual([true, 'no token']);
});

it.each(['cancelled', 'destroyed'] as const)('a stream that is %s is sent no status', (state) => {
  const { call, life } = begin();
  call[state] = true;
  life.stream.end(new Error('late'));
  expect(call.errors).toEqual([]);
  expect(life.reason).toBe('late');
});

it('an error of the connection does not end the process', () => {
  const { call } = begin();
  call.off('error', call.note);
  expect(() => call.emit('error', new Error('reset'))).not.toThrow();
});

it('a stream opens in its permit, and at once when it is over', async () => {
  const permit = begin();
  permit.life.enter();
  await permit.life.awaitAdmission();
  expect(permit.life.isOver).toBe(false);
  const ended = begin();
  ended.life.stream.end(new Error('refused'));
  await ended.life.awaitAdmission();
  expect(ended.life.isOver).toBe(true);
  leave.mockClear();
  const cancelled = begin();
  expect(leave).not.toHaveBeenCalled();
  cancelled.call.cancel();
  expect(leave).toHaveBeenCalledOnce();
  await cancelled.life.awaitAdmission();
  expect([cancelled.life.isOver, cancelled.life.reason]).toEqual([true, 'the zone ended the stream']);
});

it('a stream was refused if this process ended it because of the caller before it opened', async () => {
  const refused = begin();
  refused.life.stream.end(new MeridianError('forbidden', 'no token'));
  await refused.life.awaitAdmission();
  expect(refused.life.wasRefused).toBe(true);

  const failed = begin();
  failed.life.stream.end(new StatusError(code.UNAVAILABLE, 'the database does not answer'));
  await failed.life.awaitAdmission();
  expect(failed.life.wasRefused).toBe(false);

  const impatient = begin();
  impatient.call.cancel();
  await impatient.life.awaitAdmission();
  expect(impatient.life.wasRefused).toBe(false);

  const cutLater = begin();
  cutLater.life.enter();
  await cutLater.life.awaitAdmission();
  cutLater.call.cancel();
  expect(cutLater.life.wasRefused).toBe(false);

  const opened = begin();
  opened.life.isOpen = true;
  opened.life.stream.end(new MeridianError('forbidden', 'too much'));
  expect(opened.life.wasRefused).toBe(false);
});

it('a stream releases its resources once, the last first', () => {
  const { life } = begin();
  const given: string[] = [];
  for (const name of ['a', 'b', 'c']) life.holds(() => void given.push(name));
  life.giveBack();
  life.giveBack();
  expect(given).toEqual(['c', 'b', 'a']);
});

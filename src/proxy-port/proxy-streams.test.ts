// What a stream of a proxy costs its address, with calls that the test makes and a clock that it turns.
import { PERMITS_ALL } from '../resource/proxy-permit.ts';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Metadata, status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { MeridianError } from '../base/errors.ts';
import { createLogger } from '../base/log.ts';
import { notedPermit } from '../grpc/call-permit.fixture.ts';
import { eachMessage } from '../grpc/messages-of.ts';
import type { StatusError } from '../grpc/status.ts';
import type { ProxyStream, ServeProxy } from './proxy-stream.ts';
import { ProxyStreams } from './proxy-streams.ts';
import { RefusedProxies } from '../token/refused-proxies.ts';

const CART = { mesh: 'shop', name: 'cart-1', labels: {}, spec: {} };

class Call extends Duplex {
  readonly metadata = new Metadata();
  cancelled = false;
  code: string | null = null;

  constructor() {
    super({ objectMode: true, read: () => undefined });
    this.on('error', ({ code }: StatusError) => (this.code = status[code] ?? null));
  }

  getPeer(): string {
    return '127.0.0.1:1';
  }

  cancel(): void {
    this.cancelled = true;
    this.emit('cancelled');
    this.destroy();
  }
}

const clock = new ManualClock();
let steps: string[];
let serve: ServeProxy;
let isTokenGood: boolean;
let streams: ProxyStreams;
let refused: RefusedProxies;

beforeEach(() => {
  [steps, isTokenGood] = [[], true];
  serve = async ({ call, admit }) => await eachMessage(call as unknown as Duplex, async () => void (await admit(CART)));
  const permit = notedPermit(steps);
  refused = new RefusedProxies(clock);
  streams = new ProxyStreams({
    connections: { permitOf: () => permit },
    authenticator: {
      identify: async () => ({ ok: true, token: null, permit: PERMITS_ALL }),
      authenticate: async () =>
        isTokenGood ? { ok: true, token: null, permit: PERMITS_ALL } : { ok: false, code: 'unauthenticated', reason: 'forged' },
    },
    refused,
    watch: { watch: () => () => undefined },
    serve: async (stream) => await serve(stream),
    admissionTimeout: 400,
    clock,
    log: createLogger('silent'),
  });
});

async function open(handle = streams.open): Promise<Call> {
  const call = new Call();
  handle(call as unknown as ProxyStream['call']);
  await setImmediate();
  return call;
}

async function say(call: Call): Promise<void> {
  call.push(Buffer.from('who I am'));
  await setImmediate();
}

describe('a stream of a proxy', () => {
  it('costs nothing when it is admitted', async () => {
    const call = await open();
    await say(call);
    expect(steps).toEqual(['permit', 'admitted']);
    call.cancel();
    await expect.poll(() => streams.size).toBe(0);
    expect(steps).toEqual(['permit', 'admitted', 'left']);
  });

  it('costs a permit when its token is refused, also when it has left meanwhile', async () => {
    isTokenGood = false;
    const [stays, leaves] = [await open(), await open()];
    await say(stays);
    leaves.push(Buffer.from('who I am'));
    leaves.cancelled = true;
    await expect.poll(() => steps).toEqual(['permit', 'permit', 'refused', 'refused']);
    expect([stays.code, leaves.code]).toEqual(['UNAUTHENTICATED', null]);
  });

  it('costs a permit when it does not identify itself in time', async () => {
    const call = await open();
    await clock.advance(400);
    expect(call.code).toBe('DEADLINE_EXCEEDED');
    call.cancel();
    await expect.poll(() => steps).toEqual(['permit', 'refused', 'left']);
  });

  it('costs a permit when it speaks state-of-the-world xDS', async () => {
    expect((await open(streams.refuse)).code).toBe('UNIMPLEMENTED');
    expect(steps).toEqual(['permit', 'refused']);
  });

  it('costs nothing when its proxy leaves before it is admitted', async () => {
    (await open()).cancel();
    await expect.poll(() => steps).toEqual(['permit', 'left', 'given back']);
  });

  it.each<[string, () => void]>([
    ['the store does not answer', () => undefined],
    ['it stops', () => streams.close(new MeridianError('unavailable', 'it stops'))],
  ])('costs nothing when the control plane cannot serve: %s', async (reason, then) => {
    serve = async () => {
      then();
      throw new MeridianError('unavailable', reason);
    };
    expect((await open()).code).toBe('UNAVAILABLE');
    expect(steps).toEqual(['permit', 'given back']);
  });
});

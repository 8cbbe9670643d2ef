// Messages that leave together, and the messages of a bundle.
import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { decodeBundle, encodeBundle, isBundle } from '../../wire/bundle.ts';
import { encodeDeltaRequest, encodeDeltaResponse } from '../../wire/kds-messages.ts';
import { createOutbox, takeEach, type Outbox } from './bundles.ts';

const message = (text: string, bytes = 0): Buffer => Buffer.from(text.padEnd(bytes, '.'));
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString().replaceAll('.', '');

/** An outbox with the messages that left it: each list is one message of gRPC. */
function outbox(
  readsBundles: boolean,
): Outbox & { readonly left: string[][]; readonly bytes: Buffer[]; readonly stream: Writable } {
  const left: string[][] = [];
  const bytes: Buffer[] = [];
  const stream = new Writable({
    objectMode: true,
    write(chunk: Buffer, _, done) {
      bytes.push(chunk);
      left.push((isBundle(chunk) ? decodeBundle(chunk) : [chunk]).map(textOf));
      done();
    },
  });
  return { ...createOutbox(stream, readsBundles), left, bytes, stream };
}

describe('an outbox', () => {
  it('sends each message alone and at once to a peer that reads no bundles', () => {
    const { send, left } = outbox(false);
    for (const text of ['a', 'b']) send(message(text));
    expect(left).toEqual([['a'], ['b']]);
  });

  it('sends the small messages of one turn of the event loop together, and a single one as it is', async () => {
    const { send, left, bytes } = outbox(true);
    for (const text of ['a', 'b', 'c']) send(message(text));
    expect(left).toEqual([]);
    await nextTurn();
    send(message('d'));
    await nextTurn();
    expect(left).toEqual([['a', 'b', 'c'], ['d']]);
    expect(bytes[1]).toEqual(message('d'));
  });

  it('sends what waits when it is asked to, and nothing twice', async () => {
    const { send, flush, left } = outbox(true);
    send(message('a'));
    flush();
    expect(left).toEqual([['a']]);
    flush();
    await nextTurn();
    expect(left).toEqual([['a']]);
  });

  it('keeps messages that are put until it is asked to send them', async () => {
    const { put, flush, left } = outbox(true);
    for (const text of ['a', 'b']) put(message(text));
    await nextTurn();
    expect(left).toEqual([]);
    flush();
    expect(left).toEqual([['a', 'b']]);
  });

  it('sends a message of more than 4 KiB alone, behind those before it', async () => {
    const { send, left } = outbox(true);
    send(message('a'));
    send(message('b', 4_096));
    send(message('c', 4_097));
    send(message('d'));
    expect(left).toEqual([['a', 'b'], ['c']]);
    await nextTurn();
    expect(left).toEqual([['a', 'b'], ['c'], ['d']]);
  });

  it('sends nothing on a stream that has ended', async () => {
    const { send, left, stream } = outbox(true);
    send(message('a'));
    stream.end();
    await nextTurn();
    const other = outbox(false);
    other.stream.destroy();
    other.send(message('b'));
    expect([left, other.left]).toEqual([[], []]);
  });

  it('makes bundles that a peer takes, in the order of the messages', async () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 3_000, max: 6_000 })), {
      maxLength: 400,
    });
    await fc.assert(
      fc.asyncProperty(sizes, async (all) => {
        const { send, bytes } = outbox(true);
        const sent = all.map((size, index) => message(String(index), size));
        for (const one of sent) send(one);
        await nextTurn();
        const taken: Uint8Array[] = [];
        for (const one of bytes) await takeEach(one, (part) => void taken.push(part));
        expect(taken.map((part) => Buffer.from(part))).toEqual(sent);
      }),
    );
  });
});

describe('a taken message', () => {
  it.each([
    encodeDeltaRequest({
      ...{ node: { id: 'east' }, typeUrl: 'Mesh', subscribe: ['*'], unsubscribe: [], responseNonce: '', errorDetail: null },
      initialResourceVersions: new Map([['default.', 'v']]),
    }),
    encodeDeltaResponse({ typeUrl: 'Mesh', nonce: '1', controlPlane: 'east', entries: [], removed: ['default.'] }),
    Buffer.alloc(0),
  ])('is no bundle if it is of the protocol', (bytes) => {
    const taken: Uint8Array[] = [];
    expect(takeEach(bytes, (part) => void taken.push(part))).toBeUndefined();
    expect(taken).toEqual([bytes]);
  });

  it('of a bundle is taken when the one before it was handled', async () => {
    const first = Promise.withResolvers<void>();
    const begun: string[] = [];
    const all = takeEach(encodeBundle(['a', 'b', 'c'].map((text) => message(text))), (part) => {
      begun.push(textOf(part));
      return textOf(part) === 'a' ? first.promise : undefined;
    });
    expect(begun).toEqual(['a']);
    first.resolve();
    await all;
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('that fails ends the bundle', async () => {
    const begun: string[] = [];
    const all = takeEach(encodeBundle(['a', 'b', 'c'].map((text) => message(text))), async (part) => {
      begun.push(textOf(part));
      if (begun.length === 2) throw new Error('of b');
    });
    await expect(all).rejects.toThrow('of b');
    expect(begun).toEqual(['a', 'b']);
  });

  it.each([
    ['129 messages', encodeBundle(Array.from({ length: 129 }, () => message('a'))), 'has 129 messages; it may have 128'],
    ['more than 64 KiB', encodeBundle([message('a', 65_536)]), /has 65\d+ bytes; it may have 65536 bytes/],
    ['half of a message', encodeBundle([message('a', 100)]).subarray(0, 50), /cannot read a bundle of messages/],
  ])('in a bundle with %s is refused', (_, bytes, reason) => {
    const taken: Uint8Array[] = [];
    expect(() => takeEach(bytes, (part) => void taken.push(part))).toThrow(reason);
    expect(taken).toEqual([]);
  });

  it('may be one of 128', () => {
    let taken = 0;
    expect(takeEach(encodeBundle(Array.from({ length: 128 }, () => message('a'))), () => void (taken += 1))).toBeUndefined();
    expect(taken).toBe(128);
  });
});

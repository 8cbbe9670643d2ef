import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { framed, TcpFrames } from './tcp-frames.ts';

describe('TcpFrames', () => {
  it('gives the messages in their order, however they are cut', () => {
    const messages = fc.array(fc.uint8Array({ maxLength: 400 }));
    fc.assert(
      fc.property(messages, fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (sent, sizes) => {
        let rest = Buffer.concat(sent.map((message) => framed(Buffer.from(message))));
        const frames = new TcpFrames();
        const got: Buffer[] = [];
        for (let turn = 0; rest.length > 0; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          got.push(...frames.push(rest.subarray(0, size)));
          rest = rest.subarray(size);
        }
        expect(got).toEqual(sent.map((message) => Buffer.from(message)));
      }),
    );
  });

  it('takes the largest message', () => {
    const message = Buffer.alloc(65_535, 7);
    expect(new TcpFrames().push(framed(message))).toEqual([message]);
  });
});

import { encode } from 'dns-packet';
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { readMessage } from './question.ts';

const query = (name: string): Buffer => encode({ id: 7, questions: [{ type: 'A', class: 'IN', name }] });

/** The query for a name of these labels. */
function queryOf(labels: readonly (string | Buffer)[]): Buffer {
  const name = labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label as string)]));
  const header = encode({ id: 7 });
  header.writeUInt16BE(1, 4);
  return Buffer.concat([header, ...name, Buffer.from([0, 0, 1, 0, 1])]);
}

describe('readMessage', () => {
  it('reads the question, and finds its end', () => {
    const message = query('Cart.svc.mesh.local');
    const question = { name: 'Cart.svc.mesh.local', type: 'A', class: 'IN' };
    expect(readMessage(message)).toEqual({ kind: 'query', question, end: message.length });
    expect(readMessage(queryOf(['Cart', 'svc', 'mesh', 'local']))).toEqual(readMessage(message));
  });

  it('does not read what is behind the question', () => {
    const message = Buffer.concat([query('a.example'), Buffer.from('nonsense')]);
    message.writeUInt16BE(65_535, 10);
    expect(readMessage(message)).toMatchObject({ kind: 'query', question: { name: 'a.example' }, end: message.length - 8 });
  });

  it.each([
    ['a label with a dot', queryOf(['catalog.svc', 'mesh', 'local'])],
    ['a label that is no text', queryOf([Buffer.from([0xff]), 'mesh', 'local'])],
    ['an update', Object.assign(query('a.example'), { 2: 5 << 3 })],
    ['a class that is none', Object.assign(query('a.example'), { 26: 9 })],
  ])('gives no question for %s', (_, message) => {
    expect(readMessage(message)).toEqual({ kind: 'query', question: null, end: message.length });
  });

  it('gives no question for a message with another number of them', () => {
    for (const count of [0, 2, 65_535]) {
      const message = query('a.example');
      message.writeUInt16BE(count, 4);
      expect(readMessage(message)).toEqual({ kind: 'query', question: null, end: 12 });
    }
  });

  it.each([
    ['a question that is cut', query('a.example').subarray(0, 20)],
    ['a name that points at itself', Buffer.concat([query('').subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])])],
    ['a label of a reserved kind', Buffer.concat([query('').subarray(0, 12), Buffer.from([0x80, 0, 0, 1, 0, 1])])],
  ])('calls %s malformed', (_, message) => {
    expect(readMessage(message)).toEqual({ kind: 'malformed' });
  });

  it('finds nothing to answer in an answer and in less than a header', () => {
    expect(readMessage(encode({ type: 'response', id: 7 }))).toEqual({ kind: 'none' });
    expect(readMessage(query('a.example').subarray(0, 11))).toEqual({ kind: 'none' });
    expect(readMessage(Buffer.alloc(0))).toEqual({ kind: 'none' });
  });

  it('reads any bytes without an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const message = Buffer.from(bytes);
        if (message.length >= 12) message.writeUInt16BE(1, 4);
        if (message.length >= 3) message[2] = 0;
        const read = readMessage(message);
        if (read.kind === 'query') expect(read.end).toBeLessThanOrEqual(message.length);
      }),
    );
  });
});

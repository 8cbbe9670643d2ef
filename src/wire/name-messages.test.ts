import { describe, expect, it } from 'vitest';
import { decodeName, encodeName } from './name-messages.ts';

describe('a Name', () => {
  it.each([
    { addresses: ['241.0.0.1', 'fd00::1'], places: ['241.0.0.1:80', '[fd00::1]:80'] },
    { addresses: [], places: [] },
  ])('keeps its addresses and places: %j', (name) => {
    expect(decodeName(encodeName(name))).toEqual(name);
  });

  it('has the field numbers of its definition', () => {
    expect(encodeName({ addresses: ['a'], places: ['b'] }).toString('hex')).toBe('0a0161120162');
  });

  it('passes over fields of a later version', () => {
    const later = Buffer.concat([encodeName({ addresses: ['a'], places: [] }), Buffer.from([0x18, 5])]);
    expect(decodeName(later)).toEqual({ addresses: ['a'], places: [] });
  });

  it('is not read from other bytes', () => {
    expect(() => decodeName(Buffer.from([0x0a, 9, 1]))).toThrow('cannot read a Name');
  });
});

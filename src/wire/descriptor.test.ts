import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import descriptor from './generated/descriptor.json' with { type: 'json' };

const KNOWN = 'a1da8635ab7c5fbfe87e2adbf66477f92841f7ec3b5245d3bf3e6741968a17ce';

const REMEDY = `proto/ has changed, and with it what peers read. Check that
  1. no field that was ever released has another number or type, and what is gone is reserved;
  2. every new field is in the field tables of Kuma, or a decision record gives it a number out of Kuma's way;
  3. a peer without the field still works: new behaviour is announced as a capability, by name.
Then put the new hash into src/wire/descriptor.test.ts.`;

describe('the descriptor of the wire', () => {
  it('equals the descriptor of the peers', () => {
    expect(hash('sha256', JSON.stringify(descriptor), 'hex'), REMEDY).toBe(KNOWN);
  });
});

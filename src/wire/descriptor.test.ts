import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import descriptor from './generated/descriptor.json' with { type: 'json' };

const KNOWN = 'eca73863331ded898ad93817b36958efa65958637cea39835adbbb6988cf261d';

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

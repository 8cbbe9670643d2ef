// Ranges of IP addresses: which texts mean one, and which lie in others.
import { isIP } from 'node:net';
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { containsRange, firstAddress, parseIpRange, rangeText } from './ip-range.ts';

function range(text: string) {
  const parsed = parseIpRange(text);
  if (parsed === null) throw new Error(`${text} is no range`);
  return parsed;
}

describe('a range of IP addresses', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3/32'],
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['255.255.255.255/0', '0.0.0.0/0'],
    ['::1', '::1/128'],
    ['2001:DB8:0:0::ffff/32', '2001:db8::/32'],
    ['::ffff:1.2.3.4/128', '::ffff:102:304/128'],
    ['ffff::/1', '8000::/1'],
    ['::/0', '::/0'],
  ])('%s is %s', (text, expected) => {
    expect(rangeText(range(text))).toBe(expected);
  });

  it.each(['', '10.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/x', '::1/129', 'fe80::1%eth0', 'a.example'])(
    '%j is none',
    (text) => {
      expect(parseIpRange(text)).toBeNull();
    },
  );

  it.each([
    ['10.0.0.0/8', '10.1.0.0/16', true],
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.1.0.0/16', '10.0.0.0/8', false],
    ['10.0.0.0/8', '10.0.0.0/8', true],
    ['0.0.0.0/0', '255.0.0.1', true],
    ['0.0.0.0/0', '::1', false],
    ['2001:db8::/32', '2001:db8:1::/48', true],
    ['2001:db8::/32', '2001:db9::1', false],
  ])('%s contains %s: %s', (outer, inner, expected) => {
    expect(containsRange(range(outer), range(inner))).toBe(expected);
  });

  it('keeps every address as it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        const one = range(address);
        const text = firstAddress(one);
        expect(isIP(text)).toBe(isIP(address));
        expect(range(text)).toEqual(one);
      }),
    );
  });
});

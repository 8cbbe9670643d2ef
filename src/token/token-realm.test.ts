import { describe, expect, it } from 'vitest';
import { dataplaneRealm, describeSigningKey, federatedZoneRealm, kidOf, userRealm, zoneRealm } from './token-realm.ts';

describe('kidOf', () => {
  it.each([
    [userRealm, 'user-token-signing-key', '0'],
    [userRealm, 'user-token-signing-key-1', '1'],
    [userRealm, 'user-token-signing-key-12', '12'],
    [userRealm, 'user-token-signing-key-0', null],
    [userRealm, 'user-token-signing-key-', null],
    [userRealm, 'user-token-signing-keys-1', null],
    [userRealm, 'my-user-token-signing-key-1', null],
    [zoneRealm, 'zone-token-signing-key-3', '3'],
    [zoneRealm, 'zone-token-signing-public-key-3', null],
    [federatedZoneRealm, 'zone-token-signing-public-key-3', '3'],
    [federatedZoneRealm, 'zone-token-signing-key-3', null],
    [dataplaneRealm('shop'), 'dataplane-token-signing-key-shop-2', '2'],
    [dataplaneRealm('shop'), 'dataplane-token-signing-key-shop', '0'],
    [dataplaneRealm('shop'), 'dataplane-token-signing-key-other-2', null],
  ])('reads the serial from the name of a row', (realm, name, kid) => {
    expect(kidOf(realm, name)).toBe(kid);
  });

  it('names the row of a key', () => {
    expect(describeSigningKey(userRealm, '0')).toBe('GlobalSecret user-token-signing-key');
    expect(describeSigningKey(dataplaneRealm('shop'), '4')).toBe('Secret dataplane-token-signing-key-shop-4');
  });
});

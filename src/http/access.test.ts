import { describe, expect, it } from 'vitest';
import { defaultAccess, mayAccess, requireAccess, type Action } from './access.ts';
import { adminUser, anonymousUser, userOf } from '../token/authenticate-request.ts';

const ann = userOf({ name: 'ann', groups: ['dev'] });

describe('mayAccess', () => {
  it.each([
    ['adminResources', false],
    ['generateUserToken', false],
    ['generateDpToken', false],
    ['generateZoneToken', false],
    ['viewConfigDump', true],
    ['viewStats', true],
    ['viewClusters', true],
    ['controlPlaneMetadata', true],
  ] as const)('allows %s to everybody: %s, and to the admin always', (action: Action, everybody) => {
    expect(mayAccess(adminUser, action)).toBe(true);
    expect(mayAccess(ann, action)).toBe(everybody);
    expect(mayAccess(anonymousUser, action)).toBe(everybody);
  });

  it('allows an action to a user by name or by group', () => {
    const rules = { ...defaultAccess, adminResources: { users: ['bob'], groups: ['dev'] }, viewStats: { users: [], groups: [] } };
    expect(mayAccess(ann, 'adminResources', rules)).toBe(true);
    expect(mayAccess(userOf({ name: 'bob', groups: [] }), 'adminResources', rules)).toBe(true);
    expect(mayAccess(userOf({ name: 'dev', groups: ['bob'] }), 'adminResources', rules)).toBe(false);
    expect(mayAccess(adminUser, 'viewStats', rules)).toBe(false);
  });

  it('knows the bearer of the admin token by its claims', () => {
    expect(mayAccess(userOf({ name: 'mesh-system:admin', groups: [] }), 'adminResources')).toBe(true);
    expect(mayAccess(userOf({ name: 'ann', groups: ['mesh-system:admin'] }), 'adminResources')).toBe(true);
  });
});

describe('requireAccess', () => {
  it('names the user, the denied action and the remedy', () => {
    expect(() => requireAccess(anonymousUser, 'generateZoneToken')).toThrow(
      'user "mesh-system:anonymous" may not generate zone tokens; send a token of an allowed user, call from the machine of the ' +
        'control plane, or list the user in access.static.generateZoneToken',
    );
    expect(() => requireAccess(adminUser, 'generateZoneToken')).not.toThrow();
  });
});

describe('userOf', () => {
  it('adds the group of authenticated users once', () => {
    expect(ann).toEqual({ name: 'ann', groups: ['dev', 'mesh-system:authenticated'] });
    expect(userOf({ name: 'ann', groups: ['mesh-system:authenticated'] }).groups).toEqual(['mesh-system:authenticated']);
  });
});

// The warning at the start of a control plane that accepts writes from other machines.
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../base/config.ts';
import { exposureWarnings } from './exposure.ts';

const warningsOf = (flags: Record<string, string>): string[] => exposureWarnings(loadConfig({ mode: 'global', flags }).config);

describe('the warnings of a start', () => {
  it.each(['127.0.0.1', '127.0.0.2', '::1', 'localhost'])('are empty when the API listens on %s', (address) => {
    expect(warningsOf({})).toEqual([]);
    expect(warningsOf({ 'apiServer.http.interface': address })).toEqual([]);
  });

  it.each(['0.0.0.0', '::', '10.1.2.3', 'global.example'])('name the key when the API listens on %s', (address) => {
    expect(warningsOf({ 'apiServer.http.interface': address })).toEqual([
      `apiServer.http.interface: the REST API listens on ${address}, and every client that reaches it may write every resource except ` +
        'secrets without a token; list the allowed users in access.static.resources, or listen on 127.0.0.1',
    ]);
    expect(warningsOf({ 'apiServer.https.interface': address })).toEqual([]);
    expect(warningsOf({ 'apiServer.https.interface': address, 'apiServer.https.enabled': 'true' })).toHaveLength(1);
  });

  it('are empty when every write needs a token', () => {
    const { config } = loadConfig({ mode: 'global', flags: { 'apiServer.http.interface': '0.0.0.0' } });
    const rule = { users: ['jo'], groups: ['mesh-system:authenticated'], types: ['*'], meshes: ['*'] };
    const closed = { ...config, access: { ...config.access, static: { ...config.access.static, resources: [rule] } } };
    expect(exposureWarnings(closed)).toEqual([]);
    const open = { ...rule, groups: ['mesh-system:unauthenticated'], types: ['MeshTimeout'], meshes: ['shop'] };
    const partly = { ...closed, access: { ...config.access, static: { ...config.access.static, resources: [open] } } };
    expect(exposureWarnings(partly)).toHaveLength(1);
  });
});

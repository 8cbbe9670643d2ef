// The project `peers` runs only where real peers are, so its setup is loaded here.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const SETUP = pathToFileURL(join(import.meta.dirname, 'peers-global-setup.ts'));

it('the setup of the project peers loads outside a test, where nothing can be injected', async () => {
  const program = `const { default: setup } = await import('${SETUP.href}'); console.log(typeof setup)`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout.trim()).toBe('function');
});

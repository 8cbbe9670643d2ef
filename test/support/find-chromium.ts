// Finds the browser of the tests of the page.
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';

export type FoundChromium = { readonly path: string; readonly from: string };

/** The sentence that says what to do without a browser. */
export const NO_CHROMIUM = 'there is no Chromium on this machine; `apt-get install chromium` gets one, or set CHROMIUM_PATH';

const USUAL = ['/usr/bin/chromium', '/usr/bin/google-chrome'];

/** CHROMIUM_PATH, else the first of the usual paths; null if there is none. @throws Error for a variable that names no program */
export async function findChromium(env: Readonly<Record<string, string | undefined>>): Promise<FoundChromium | null> {
  const named = env['CHROMIUM_PATH'] ?? '';
  if (named !== '') {
    if (await isProgram(named)) return { path: named, from: 'CHROMIUM_PATH' };
    throw new Error(`CHROMIUM_PATH: ${named} is not a program that this user can run`);
  }
  for (const path of USUAL) if (await isProgram(path)) return { path, from: 'its usual path' };
  return null;
}

async function isProgram(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

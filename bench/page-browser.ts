// The Chromium that the page is measured in.
import { chromium, type Browser } from 'playwright-core';
import { findChromium, NO_CHROMIUM } from '../test/support/find-chromium.ts';

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

/** @throws Error if this machine has none */
export async function startChromium(): Promise<Browser> {
  const found = await findChromium(process.env);
  if (found === null) throw new Error(NO_CHROMIUM);
  return await chromium.launch({ executablePath: found.path, args: FLAGS });
}

// A browser for the tests of the page. Each page of a test reports what should not happen in it: errors, violations of its content
// security policy, and requests to other servers.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    chromium: string;
  }
}

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Fewer processes: without these a page of a test takes two, which cost a third of the CPU of the browser.
  '--process-per-site',
  '--renderer-process-limit=1',
];

export type Browser = {
  /** A new page at an address, and what went wrong in it. @param prepare works before the first request */
  readonly open: (url: string, prepare?: (page: Page) => Promise<void>) => Promise<OpenPage>;
  readonly close: () => Promise<void>;
};

export type OpenPage = { readonly page: Page; readonly faults: readonly string[] };

/** Wide enough that no column is left out. */
const VIEWPORT = { width: 1440, height: 900 };

export async function openBrowser(): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-gui-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: inject('chromium'),
    args: FLAGS,
    viewport: VIEWPORT,
    // The tests wait for conditions as long as all others.
    timeout: 90_000,
  });
  context.setDefaultTimeout(60_000);
  return {
    open: async (url, prepare) => {
      const page = await context.newPage();
      await prepare?.(page);
      const faults = watch(page, new URL(url).origin);
      await page.goto(url);
      return { page, faults };
    },
    close: async () => {
      await close(context);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function close(context: BrowserContext): Promise<void> {
  await context.close();
}

function watch(page: Page, origin: string): string[] {
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:') faults.push(`foreign request: ${request.url()}`);
  });
  return faults;
}

// What a person with a screen reader or a keyboard would meet.
import axe from 'axe-core';
import type { Page } from 'playwright-core';

const MAX_STEPS = 60;

/** Serious and critical faults by the rules of WCAG 2.2 AA, with the elements. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(async () => {
    const { axe: inPage } = globalThis as unknown as { axe: typeof axe };
    return await inPage.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] });
  });
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`));
}

/** Presses Tab until the link with this text has the focus. @throws Error if it never has */
export async function tabTo(page: Page, text: string): Promise<void> {
  for (let step = 0; step < MAX_STEPS; step += 1) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate('document.activeElement?.textContent')) === text) return;
  }
  throw new Error(`the keyboard does not come to ${text}`);
}

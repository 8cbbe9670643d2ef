// Runs every folder of cases/ through the reconciler of a zone, once without restarts and once with a restart after every step.
// Invariants: restarts do not change the result; at rest no write is pending.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { caseNames, casesFolder, changesText, expectedText, putRows, runStep, stepsOf, writeExpected } from './case-folder.ts';
import { ZoneUnderTest } from './zone-under-test.ts';

const ways = [
  { how: 'in one life', restarts: false },
  { how: 'with a restart after every step', restarts: true },
];
const isUpdate = process.env['UPDATE_GOLDEN'] === '1';

describe.each(caseNames())('%s', (name) => {
  it('has a README that describes it', () => {
    expect(existsSync(join(casesFolder, name, 'README.md')), `cases/${name} needs a README.md`).toBe(true);
  });

  it.each(ways)('$how', async ({ restarts }) => {
    const zone = new ZoneUnderTest();
    const check = (file: string, text: string | null): void => {
      if (isUpdate && !restarts) writeExpected(name, file, text);
      expect(text, adviceFor(name, file)).toBe(expectedText(name, file));
    };
    await putRows(join(casesFolder, name, 'before.yaml'), zone);
    try {
      await zone.start();
      check('expect.yaml', changesText([], zone.services()));
      for (const step of stepsOf(name)) {
        const before = zone.services();
        await runStep(step, zone);
        await zone.rest();
        check(`expect.${step.number}.yaml`, changesText(before, zone.services()));
        if (restarts) await expectNothingToWrite(zone);
      }
      await expectNothingToWrite(zone);
    } finally {
      await zone.close();
    }
  });
});

async function expectNothingToWrite(zone: ZoneUnderTest): Promise<void> {
  const before = zone.writes.length;
  await zone.restart();
  expect(zone.writes.slice(before), 'a new reconciler finds nothing to write').toEqual([]);
}

function adviceFor(name: string, file: string): string {
  return `test/reconcile/cases/${name}/${file} expects something else («-» is expected, «+» is there; null is no file).
Read cases/${name}/README.md and the section it names. If what is there is right:
  UPDATE_GOLDEN=1 npx vitest run --project unit test/reconcile
  git diff test/reconcile/cases    and read every line: an expected file that records a fault is worse than none
`;
}

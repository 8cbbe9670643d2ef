// Runs every folder of cases/ through a global and two zones, and compares each store with the expected content.
// Invariant: the result is the same with differences, with full states, and with a new connection after every step.
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { caseNames, casesFolder, expectedText, runStep, stepsOf, textsOf, writeExpected } from './case-folder.ts';
import { ControlPlanes } from './control-planes.ts';

const ways = [
  { how: 'by differences', resume: true, reconnects: false },
  { how: 'by full states', resume: false, reconnects: false },
  { how: 'by differences, with a reconnect after every step', resume: true, reconnects: true },
  { how: 'by full states, with a reconnect after every step', resume: false, reconnects: true },
];
const isUpdate = process.env['UPDATE_GOLDEN'] === '1';

describe.each(caseNames())('%s', (name) => {
  it('has a README that describes it', () => {
    expect(existsSync(join(casesFolder, name, 'README.md')), `cases/${name} needs a README.md`).toBe(true);
  });

  it.each(ways)('$how', async ({ resume, reconnects }) => {
    const texts = await run(name, { resume, reconnects });
    for (const [file, text] of texts) {
      // The first way writes, so that the others show whether they agree with it.
      if (isUpdate && resume && !reconnects) writeExpected(name, file, text);
      expect(text, adviceFor(name, file)).toBe(expectedText(name, file));
    }
  });
});

async function run(
  name: string,
  { resume, reconnects }: { resume: boolean; reconnects: boolean },
): Promise<Map<string, string | null>> {
  const planes = new ControlPlanes({ resume });
  const steps = stepsOf(name);
  for (const step of steps.filter(({ what }) => what === 'before')) await runStep(step, planes);
  try {
    await planes.start();
    for (const step of steps.filter(({ what }) => what !== 'before')) {
      await runStep(step, planes);
      await planes.rest();
      if (reconnects) await planes.reconnect();
    }
    return textsOf(planes);
  } finally {
    await planes.close();
  }
}

function adviceFor(name: string, file: string): string {
  return `test/golden/cases/${name}/${file} expects something else («-» is expected, «+» is there; null is no file).
Read cases/${name}/README.md and the section it names. If what is there is right:
  UPDATE_GOLDEN=1 npx vitest run --project unit test/golden
  git diff test/golden/cases    and read every line: an expected file that records a fault is worse than none
`;
}

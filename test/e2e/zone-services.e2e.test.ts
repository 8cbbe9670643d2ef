// The golden folders of test/services with a real process on PostgreSQL, which is killed and started again where a case restarts.
// Cases that let an hour pass run only in process.
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { caseNames, casesFolder, changesText, expectedText, putRows, runStep, stepsOf } from '../services/case-folder.ts';
import { RealZone } from '../services/real-zone.ts';
import { WAIT } from '../support/control-plane.ts';

const cases = caseNames().filter((name) => stepsOf(name).every(({ what }) => what !== 'wait'));

it.each(cases)('%s', async (name) => {
  const zone = await RealZone.create(inject('postgresUrl'));
  try {
    await putRows(join(casesFolder, name, 'before.yaml'), zone);
    await zone.start();
    await expect.poll(async () => changesText([], await zone.services()), WAIT).toBe(expectedText(name, 'expect.yaml'));
    for (const step of stepsOf(name)) {
      const before = await zone.services();
      await runStep(step, zone);
      const expected = expectedText(name, `expect.${step.number}.yaml`);
      await expect.poll(async () => changesText(before, await zone.services()), WAIT).toBe(expected);
    }
  } finally {
    await zone.close();
  }
});

// The golden folders of test/reconcile with a whole zone on PostgreSQL. Where a case restarts, it is a process, which is killed.
// Cases that let an hour pass run only with the zone of the unit tests, whose time is moved. So does the deletion of a MeshIdentity: a whole
// zone also puts MeshIdentities in force, and what the deletion changes depends on whether it has done so (identity.envoy.test.ts).
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { caseNames, casesFolder, changesText, expectedText, putRows, runStep, stepsOf } from '../reconcile/case-folder.ts';
import { RealZone } from '../reconcile/real-zone.ts';
import { WAIT } from '../support/control-plane.ts';

const cases = caseNames().filter((name) => name !== 'identity-deleted' && stepsOf(name).every(({ what }) => what !== 'wait'));

it.each(cases)('%s', async (name) => {
  const isProcess = stepsOf(name).some(({ what }) => what === 'restart');
  const zone = await RealZone.create(inject('postgresUrl'), isProcess);
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

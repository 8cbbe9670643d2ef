// The YAML examples of MADR 063 and MADR 075 as cases (D37).
// UPDATE_GOLDEN=1 rewrites the expected files; read the difference before you commit it.
import { describe, expect, it } from 'vitest';
import { answersOf, caseNames, groupAnswers, readCase, readExpected, rolesOf, writeExpected, zonesOf } from './policy-case.ts';

describe.each(caseNames())('policy case %s', (name) => {
  it('gives proxies the answers of the MADR', async () => {
    const given = await readCase(name);
    const actual = { roles: rolesOf(given), answers: groupAnswers(answersOf(given, 'global')) };
    if (process.env['UPDATE_GOLDEN'] === '1') writeExpected(name, actual);
    expect(actual).toEqual(readExpected(name));
  });

  it('gives the same answers in their zones', async () => {
    const given = await readCase(name);
    const onGlobal = answersOf(given, 'global');
    for (const zone of zonesOf(given))
      for (const [proxy, answer] of answersOf(given, zone)) expect(answer, `${proxy} in ${zone}`).toEqual(onGlobal.get(proxy));
  });
});

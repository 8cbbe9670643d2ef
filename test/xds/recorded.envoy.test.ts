// A real Envoy takes what the proxies of the recorded cases are sent.
import { expect, inject, it } from 'vitest';
import { validate } from '../support/envoy.ts';
import { caseNames, configOf, readCase } from './recorded-case.ts';

it('accepts the configuration of every proxy of the recorded cases', async () => {
  const configs = caseNames().flatMap((name) => {
    const recorded = readCase(name);
    return recorded.proxies.map((proxy) => ({ name: `${name}-${proxy}`, config: configOf(recorded, proxy) }));
  });
  expect(configs.length).toBeGreaterThan(20);
  expect(await validate(inject('envoy'), configs)).toEqual([]);
});

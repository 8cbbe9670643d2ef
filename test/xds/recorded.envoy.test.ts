// A real Envoy takes what the proxies of the recorded cases are sent.
import { expect, inject, it } from 'vitest';
import { validate } from '../support/envoy.ts';
import { caseNames, configOf, readCase } from './recorded-case.ts';

it('accepts the configuration of every proxy of the recorded cases', async () => {
  const configs = caseNames().flatMap((name) =>
    readCase(name).proxies.map((proxy) => ({ name: `${name}-${proxy.file.replace('/', '-')}`, config: configOf(proxy) })),
  );
  expect(configs.length).toBeGreaterThan(20);
  expect(await validate(inject('envoy'), configs)).toEqual([]);
});

import { expect, it } from 'vitest';
import { providerOf } from './identity-spec.ts';

it('reads the bundled provider', () => {
  const bundled = (fields: object) => providerOf({ provider: { type: 'Bundled', bundled: { ...fields } } });
  expect(bundled({ autogenerate: { enabled: true } })).toEqual({
    ...{ kind: 'bundled', generates: true, makesTrust: true, lifetimeMs: 86_400_000 },
  });
  expect(bundled({ meshTrustCreation: 'Disabled', certificateParameters: { expiry: '1h' } })).toEqual({
    ...{ kind: 'bundled', generates: false, makesTrust: false, lifetimeMs: 3_600_000 },
  });
  expect(bundled({ certificateParameters: { expiry: '1ms' } })).toMatchObject({ lifetimeMs: 1_000 });
});

it('refuses other providers by name', () => {
  expect(providerOf({ provider: { type: 'Spire' } })).toMatchObject({ reason: expect.stringContaining('Spire') as string });
  expect(providerOf({})).toMatchObject({ reason: expect.stringContaining('none') as string });
});

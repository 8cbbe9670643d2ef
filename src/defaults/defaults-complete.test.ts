import { describe, expect, it } from 'vitest';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { createBaseDefaults } from './create-defaults.ts';
import { defaultsComplete } from './defaults-complete.ts';

const defaults = { skipMeshCreation: false, skipTenantResources: false, skipHostnameGenerators: false };

describe('the first start', () => {
  it('is complete when the default resources exist, and stays complete', async () => {
    const store = new TinyStore();
    const isOver = defaultsComplete({ store, createsDefaults: true, defaults });
    expect(await isOver()).toBe(false);
    await createBaseDefaults(store, { mode: 'global' }, defaults);
    expect(await isOver()).toBe(true);
    store.rows.clear();
    expect(await isOver()).toBe(true);
  });

  it.each([
    ['a zone of a global, which may be out of reach', { createsDefaults: false, defaults }],
    ['defaults.skipTenantResources', { createsDefaults: true, defaults: { skipTenantResources: true } }],
  ])('is complete at once for %s', async (_why, options) => {
    expect(await defaultsComplete({ store: new TinyStore(), ...options })()).toBe(true);
  });
});

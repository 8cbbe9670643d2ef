// The views of a mesh as an observer of its index.
import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { makeDataplane } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { WITHOUT_FEATURES } from '../xds/proxy-features.ts';
import { ResourceEncoder } from './encode-resources.ts';
import { FollowedViews } from './followed-views.ts';

it('the end of a mesh ends all its views and is reported once', () => {
  const heard: string[] = [];
  const followed = new FollowedViews({
    index: new MeshIndex('default', [makeDataplane('cart-1', {}, { inbound: [{ port: 8080 }] })]),
    ...{ encoder: new ResourceEncoder(), zone: 'east', clock: new ManualClock() },
    certificates: { get: () => null, release: () => undefined },
    onEnd: () => void heard.push('reported'),
  });
  const listener = { changed: () => void heard.push('changed'), failed: () => void heard.push('failed') };
  const view = followed.views.open('cart-1', WITHOUT_FEATURES);
  view?.listen({ ...listener, ended: () => void heard.push('ended') });
  followed.ended();
  expect(heard).toEqual(['reported', 'ended']);
  expect(followed.views.open('cart-1', WITHOUT_FEATURES)).toBeUndefined();
});

import { expect, it } from 'vitest';
import { objectOf } from '../resource/read-json.ts';
import { bootstrapRequest } from './bootstrap-request.ts';

it('has text alone in its metadata: a control plane of Kuma refuses all else', () => {
  const request = bootstrapRequest({
    ...{ mesh: 'shop', name: 'cart-1', token: '', dataplane: null, envoy: { version: '1.40.0', build: '' }, caCert: '' },
    ...{ readinessPort: 1, workDir: '/tmp/x', systemCaPath: '', ipv6Enabled: true, drainMs: 2_500, forwardsLogs: false },
  });
  expect(objectOf(request['dynamicMetadata'])).toEqual({ 'meridian.drainSeconds': '3' });
});

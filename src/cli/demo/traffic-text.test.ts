import { describe, expect, it } from 'vitest';
import { trafficText } from './traffic-text.ts';

describe('the requests of the demo', () => {
  it('are one line with the reason and the next command where there is no Envoy', () => {
    expect(trafficText({ missing: 'no python3 with pip\u001b[31m' }, [])).toBe(
      '\nNot shown: requests through Envoy proxies (no python3 with pip\\u001b[31m). `bin/meridian dataplane install-envoy` gets an Envoy.',
    );
  });

  it('have a row for each zone', () => {
    const east = {
      zone: 'east',
      requests: 1_200,
      canary: new Map([
        ['v1', 801],
        ['v2', 199],
      ]),
      sticky: new Map([['cart-1', 100]]),
      timeoutMs: 12.34,
      closed: 0,
    };
    const lines = trafficText({ path: '/usr/bin/envoy', from: 'PATH' }, [east]).split('\n');
    expect(lines.map((line) => line.replaceAll(/ {2,}/g, ' | ').trim())).toEqual([
      '',
      'Requests of the catalog to the carts of its zone, through two Envoys:',
      expect.stringContaining('ZONE | REQUESTS'),
      'east | 1200 | v1 801, v2 199 | cart-1 100 | 12.3 ms | 0',
    ]);
  });
});

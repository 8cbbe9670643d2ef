// When a proxy with a DNS server is ready; test/dataplane runs the server in its command.
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../test/support/free-port.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createLogger } from '../base/log.ts';
import { dnsPortOf, openMeshDns } from './mesh-dns.ts';

async function setUp() {
  const clock = new ManualClock();
  const names = { isKnown: false, size: 0, waiting: new Set<string>(), lookup: () => undefined };
  const dns = await openMeshDns(await freePort(), names, null, { clock, log: createLogger('silent') });
  onTestFinished(async () => await dns.close());
  return { clock, names, dns };
}

describe('a proxy with a DNS server', () => {
  it('is ready when its names have come and lead somewhere', async () => {
    const { names, dns } = await setUp();
    expect(dns.whyNotReady()).toBe('the names of the mesh have not come yet');
    names.isKnown = true;
    names.waiting.add('cart.svc.mesh.local');
    expect(dns.whyNotReady()).toBe('names of the mesh wait for listeners of Envoy: 1');
    names.waiting.clear();
    expect(dns.whyNotReady()).toBeNull();
  });

  it('waits for them no longer than 15 seconds', async () => {
    const { clock, dns } = await setUp();
    await clock.advance(14_999);
    expect(dns.whyNotReady()).not.toBeNull();
    await clock.advance(1);
    expect(dns.whyNotReady()).toBeNull();
  });
});

describe('dnsPortOf', () => {
  const redirected = { networking: { transparentProxying: { redirectPortOutbound: 15_001 } } };

  it.each([
    [null, redirected, 15_053],
    [null, { networking: { transparentProxying: { redirectPortInbound: 15_006 } } }, null],
    [null, null, null],
    [53, null, 53],
    [0, redirected, null],
  ])('makes of %j and %j the port %j', (given, dataplane, port) => {
    expect(dnsPortOf(given, dataplane)).toBe(port);
  });
});

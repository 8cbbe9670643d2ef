import { describe, expect, it } from 'vitest';
import { createExpiryMetrics } from './expiry-metrics.ts';
import { createRegistry } from './process-metrics.ts';

const NEW_YEAR = new Date(Date.UTC(2026, 0, 1));
const CERTIFICATE = 'meridian_server_certificate_expiration_timestamp_seconds';
const TOKEN = 'meridian_zone_token_expiration_timestamp_seconds';

function setUp() {
  const registry = createRegistry('Global');
  const metrics = createExpiryMetrics(registry);
  const lines = async (): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return { metrics, lines };
}

describe('the expiry metrics', () => {
  it('are absent without certificates and tokens', async () => {
    expect(await setUp().lines()).toEqual([]);
  });

  it('show the expiry of the certificates in use', async () => {
    const { metrics, lines } = setUp();
    let end: Date | null = NEW_YEAR;
    metrics.certificate('api', () => end);
    metrics.certificate('kds', () => NEW_YEAR);
    const kds = `${CERTIFICATE}{server="kds",zone="Global"} 1767225600`;
    expect(await lines()).toEqual([`${CERTIFICATE}{server="api",zone="Global"} 1767225600`, kds]);
    end = new Date(NEW_YEAR.getTime() + 60_000);
    expect(await lines()).toEqual([`${CERTIFICATE}{server="api",zone="Global"} 1767225660`, kds]);
    end = null;
    expect(await lines()).toEqual([kds]);
  });

  it('show the tokens of connected zones, and none when the tokens cannot be read', async () => {
    const { metrics, lines } = setUp();
    const tokens = new Map([['east', NEW_YEAR]]).set('west', new Date(NEW_YEAR.getTime() + 1000));
    let read = (): Promise<ReadonlyMap<string, Date>> => Promise.resolve(tokens);
    metrics.zoneTokens(() => read());
    const west = `${TOKEN}{zone_name="west",zone="Global"} 1767225601`;
    expect(await lines()).toEqual([`${TOKEN}{zone_name="east",zone="Global"} 1767225600`, west]);
    tokens.delete('east');
    expect(await lines()).toEqual([west]);
    read = () => Promise.reject(new Error('the file is away'));
    expect(await lines()).toEqual([]);
  });
});

import { X509Certificate } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { makeRow } from '../../test/support/make-row.ts';
import { createLogger } from '../base/log.ts';
import { createAuthority } from '../identity/authority.ts';
import { authorityId } from '../identity/authority-id.ts';
import type { AuthorityPem } from '../identity/leaf.ts';
import type { Resource } from '../resource/types.ts';
import { ProxyCertificates, type CertificateOrder, type ProxyName } from './proxy-certificates.ts';

const HOUR_MS = 3_600_000;
const order: CertificateOrder = {
  mesh: 'shop',
  identity: 'identity',
  spiffeId: 'spiffe://shop/cart',
  authority: '',
  lifetimeMs: HOUR_MS,
};
const cart = { mesh: 'shop', name: 'cart' };
let clock: ManualClock;
let rows: Resource[];
let reads: number;
let issued: ProxyName[];
let certificates: ProxyCertificates;

beforeEach(async () => {
  clock = new ManualClock();
  reads = 0;
  issued = [];
  rows = secretsOf(await createAuthority('shop', clock.now()));
  certificates = new ProxyCertificates({
    store: {
      getMany: () => {
        reads += 1;
        return Promise.resolve(rows);
      },
    },
    clock,
    log: createLogger('silent'),
    issued: (proxy) => void issued.push(proxy),
    random: () => 0.5,
  });
});

function secretsOf({ certPem, keyPem }: AuthorityPem): Resource[] {
  const secret = (name: string, pem: string): Resource =>
    makeRow('Secret', name, { mesh: 'shop', spec: { data: Buffer.from(pem).toString('base64') } });
  return [secret('identity-root-ca', certPem), secret('identity-private-key', keyPem)];
}

describe('the certificates of proxies', () => {
  it('are issued once, and are there for a proxy that comes again', async () => {
    expect(certificates.get(cart, order)).toBeNull();
    await certificates.ready(cart, order);
    const leaf = certificates.get(cart, order);
    expect(new X509Certificate(leaf?.certPem ?? '').subjectAltName).toBe('URI:spiffe://shop/cart');
    certificates.release(cart);
    await certificates.ready(cart, order);
    expect(certificates.get(cart, order)).toBe(leaf);
    expect(issued).toEqual([cart]);
  });

  it('are renewed for a connected proxy, also when many others have come and gone', async () => {
    await certificates.ready(cart, order);
    for (let at = 0; at <= 20_000; at += 1) {
      const job = { mesh: 'shop', name: `job-${String(at)}` };
      certificates.get(job, order);
      certificates.release(job);
    }
    await clock.advance(HOUR_MS * 0.9);
    await expect.poll(() => issued).toEqual([cart, cart]);
  });

  it('read an authority once for all proxies that wait', async () => {
    const names = ['a', 'b', 'c'].map((name) => ({ mesh: 'shop', name }));
    await Promise.all(names.map((proxy) => certificates.ready(proxy, order)));
    expect([issued, reads]).toEqual([names, 1]);
  });

  it('are renewed before they end; the old one is there until then', async () => {
    await certificates.ready(cart, order);
    const first = certificates.get(cart, order);
    await clock.advance(HOUR_MS * 0.7);
    expect(issued).toHaveLength(1);
    await clock.advance(HOUR_MS * 0.05);
    // Views are made again while it is issued.
    certificates.get(cart, { ...order });
    await expect.poll(() => issued).toHaveLength(2);
    expect(certificates.get(cart, order)?.notAfter.getTime()).toBeGreaterThan(first?.notAfter.getTime() ?? Infinity);
  });

  it('are renewed before they end when the date was set forward, or the machine slept', async () => {
    await certificates.ready(cart, order);
    const first = certificates.get(cart, order);
    clock.moveDate(HOUR_MS / 2);
    await clock.advance(HOUR_MS * 0.25);
    await expect.poll(() => issued).toHaveLength(2);
    expect(clock.now().getTime()).toBeLessThan(first?.notAfter.getTime() ?? 0);
  });

  it('are renewed within a minute when they ended while the machine slept', async () => {
    await certificates.ready(cart, order);
    clock.moveDate(2 * HOUR_MS);
    await clock.advance(60_000);
    await expect.poll(() => issued).toHaveLength(2);
  });

  it('are issued again when the date was set back to a time at which they are not valid yet', async () => {
    const other = { mesh: 'shop', name: 'other' };
    clock.moveDate(24 * HOUR_MS);
    await certificates.ready(cart, order);
    await certificates.ready(other, order);
    certificates.release(other);
    const first = certificates.get(cart, order);
    clock.moveDate(-24 * HOUR_MS);
    await clock.advance(60_000);
    await expect.poll(() => issued).toEqual([cart, other, cart]);
    expect(certificates.get(cart, order)?.issuedAt.getTime()).toBeLessThan(first?.issuedAt.getTime() ?? 0);
    certificates.get(other, order);
    await expect.poll(() => issued).toEqual([cart, other, cart, other]);
    clock.moveDate(-30_000);
    await clock.advance(60_000);
    expect(issued).toHaveLength(4);
  });

  it('are renewed for a proxy that came while another one was away', async () => {
    const other = { mesh: 'shop', name: 'other' };
    await certificates.ready(cart, order);
    certificates.release(cart);
    await certificates.ready(other, order);
    certificates.get(cart, order);
    await clock.advance(HOUR_MS * 0.9);
    await expect.poll(() => issued).toHaveLength(4);
    expect(issued).toEqual(expect.arrayContaining([cart, other, cart, other]));
  });

  it('are not renewed for a proxy that is gone', async () => {
    await certificates.ready(cart, order);
    certificates.release(cart);
    await clock.advance(HOUR_MS);
    expect(reads).toBe(1);
  });

  it('are renewed for a proxy that comes again', async () => {
    await certificates.ready(cart, order);
    certificates.release(cart);
    await certificates.ready(cart, order);
    await clock.advance(HOUR_MS * 0.75);
    await expect.poll(() => issued).toHaveLength(2);
  });

  it('are renewed early, once, when another authority signs; the old one is there until then', async () => {
    await certificates.ready(cart, order);
    const first = certificates.get(cart, order);
    const next = await createAuthority('shop', clock.now());
    rows = secretsOf(next);
    const resigned = { ...order, authority: authorityId(next.certPem) };
    expect(certificates.get(cart, resigned)).toBe(first);
    await clock.advance(HOUR_MS / 12);
    expect(certificates.get(cart, resigned)).toBe(first);
    await clock.advance(HOUR_MS / 12);
    await expect.poll(() => issued).toHaveLength(2);
    expect(certificates.get(cart, resigned)).toMatchObject({ authority: resigned.authority });
    await clock.advance(HOUR_MS / 2);
    expect(issued).toHaveLength(2);
  });

  it('leave no timer when their proxy goes while they are issued', async () => {
    const ready = certificates.ready(cart, order);
    await expect.poll(() => reads).toBe(1);
    certificates.release(cart);
    await ready;
    const other = { mesh: 'shop', name: 'other' };
    await certificates.ready(other, order);
    certificates.release(other);
    expect(clock.sleepers).toBe(0);
  });

  it('of a longer life than a timer holds are renewed in their time', async () => {
    const DAY_MS = 24 * HOUR_MS;
    const waits: number[] = [];
    const after = clock.after.bind(clock);
    vi.spyOn(clock, 'after').mockImplementation((ms, task) => {
      waits.push(ms);
      return after(ms, task);
    });
    await certificates.ready(cart, { ...order, lifetimeMs: 60 * DAY_MS });
    await clock.advance(43 * DAY_MS);
    expect(issued).toHaveLength(1);
    await clock.advance(2 * DAY_MS);
    await expect.poll(() => issued).toHaveLength(2);
    expect(Math.max(...waits)).toBeLessThan(2 ** 31);
  });

  it.each<[what: string, changed: Partial<CertificateOrder>]>([
    ['mesh', { mesh: 'other' }],
    ['identity', { identity: 'other' }],
    ['SPIFFE ID', { spiffeId: 'spiffe://shop/other' }],
    ['lifetime', { lifetimeMs: 2 * HOUR_MS }],
  ])('do not serve an order with another %s', async (_, changed) => {
    await certificates.ready(cart, order);
    expect(certificates.get(cart, { ...order, ...changed })).toBeNull();
    await certificates.ready(cart, { ...order, ...changed });
  });

  it('of two identities come from the authority of each', async () => {
    const other = { ...order, identity: 'other' };
    await Promise.all([certificates.ready(cart, order), certificates.ready({ mesh: 'shop', name: 'b' }, other)]);
    expect(reads).toBe(2);
  });

  it('are there until the moment in which they end', async () => {
    await certificates.ready(cart, order);
    const leaf = certificates.get(cart, order);
    certificates.release(cart);
    await clock.advance((leaf?.notAfter.getTime() ?? 0) - clock.now().getTime() - 1);
    expect(certificates.get(cart, order)).toBe(leaf);
    certificates.release(cart);
    await clock.advance(1);
    expect(certificates.get(cart, order)).toBeNull();
    await certificates.ready(cart, order);
  });

  it('of another order have one timer, also when they cannot be issued', async () => {
    // A renewal within a minute has a timer of its own.
    const short = { ...order, lifetimeMs: 60_000 };
    await certificates.ready(cart, short);
    expect(clock.sleepers).toBe(1);
    rows = [];
    await certificates.ready(cart, { ...short, spiffeId: 'spiffe://shop/other' });
    expect(clock.sleepers).toBe(1);
    certificates.release(cart);
    expect(clock.sleepers).toBe(0);
  });

  it('are tried again when the authority is missing', async () => {
    const there = rows;
    rows = [];
    await certificates.ready(cart, order);
    expect(certificates.get(cart, order)).toBeNull();
    rows = there;
    await clock.advance(4_999);
    expect(reads).toBe(2);
    await clock.advance(1);
    await expect.poll(() => issued).toEqual([cart]);
  });

  /** Goes on until the authority has this many milliseconds left. */
  async function untilEnd(left: number): Promise<void> {
    clock.moveDate(3_650 * 24 * HOUR_MS - left);
    await certificates.ready(cart, order);
  }

  it('of an authority that has ended are not issued, and are tried again each five seconds', async () => {
    await untilEnd(-60_000);
    await clock.advance(60_000);
    expect([issued, reads]).toEqual([[], 13]);
    rows = secretsOf(await createAuthority('shop', clock.now()));
    await clock.advance(5_000);
    await expect.poll(() => issued).toEqual([cart]);
  });

  it('of an authority that will end soon are few, also where each is asked for at once', async () => {
    const views = new ProxyCertificates({
      ...{ store: { getMany: () => Promise.resolve(rows) }, clock, log: createLogger('silent'), random: () => 0 },
      issued: (proxy) => {
        issued.push(proxy);
        views.get(proxy, order);
      },
    });
    clock.moveDate(3_650 * 24 * HOUR_MS - 3_000);
    await views.ready(cart, order);
    await clock.advance(2_000);
    await expect.poll(() => issued).toHaveLength(2);
    await clock.advance(667);
    await expect.poll(() => issued).toHaveLength(3);
    await clock.advance(333);
    await views.ready(cart, order);
    await clock.advance(60_000);
    expect(issued).toHaveLength(3);
    expect(views.get(cart, order)).toBeNull();
  });

  it('are not issued while the date is before that of the authority, and the last one stays', async () => {
    await certificates.ready(cart, order);
    const leaf = certificates.get(cart, order);
    clock.moveDate(-HOUR_MS);
    const web = { mesh: 'shop', name: 'web' };
    await certificates.ready(web, order);
    await clock.advance(60_000);
    expect([issued, certificates.get(web, order), certificates.get(cart, order)]).toEqual([[cart], null, leaf]);
    clock.moveDate(HOUR_MS);
    await clock.advance(5_000);
    await expect.poll(() => issued).toHaveLength(3);
    expect(issued).toEqual(expect.arrayContaining([cart, web]));
  });
});

import { execFileSync } from 'node:child_process';
import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { createAuthority, issueLeaf, readAuthority } from './authority.ts';
import { renewalOf, resigningOf } from './leaf.ts';

const now = new Date('2026-01-01T00:00:00Z');
const HOUR_MS = 3_600_000;

async function authority(trustDomain = 'shop.east.mesh.local') {
  const pem = await createAuthority(trustDomain, now);
  return { pem, certificate: new X509Certificate(pem.certPem), authority: await readAuthority(pem) };
}

describe('an authority', () => {
  it('has a P-256 key, names its trust domain and may sign', async () => {
    const { certificate } = await authority();
    expect(certificate.subject).toBe('O=Meridian\nOU=Mesh\nCN=shop.east.mesh.local');
    expect(certificate.subjectAltName).toBe('URI:spiffe://shop.east.mesh.local');
    expect(certificate.ca).toBe(true);
    expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    expect(certificate.verify(certificate.publicKey)).toBe(true);
  });

  it('is refused if its key is another or if it cannot be read', async () => {
    const [one, other] = [await createAuthority('a', now), await createAuthority('b', now)];
    await expect(readAuthority({ ...one, keyPem: other.keyPem })).rejects.toThrow('not that of its certificate');
    await expect(readAuthority({ certPem: 'no certificate', keyPem: one.keyPem })).rejects.toThrow('cannot be used');
  });
});

describe('a certificate of a proxy', () => {
  it('names the SPIFFE ID, verifies against its authority and is good for servers and clients', async () => {
    const { certificate, authority: issuer } = await authority();
    const spiffeId = 'spiffe://shop.east.mesh.local/workload/cart';
    const leaf = await issueLeaf(issuer, spiffeId, { now, lifetimeMs: HOUR_MS });
    const issued = new X509Certificate(leaf.certPem);
    expect(issued.subjectAltName).toBe(`URI:${spiffeId}`);
    expect(issued.subject).toBeUndefined();
    expect(issued.verify(certificate.publicKey) && issued.checkIssued(certificate)).toBe(true);
    expect(issued.ca).toBe(false);
    expect(issued.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    expect(issued.checkPrivateKey(createPrivateKey(leaf.keyPem))).toBe(true);
    expect([issued.validToDate, leaf.notAfter]).toEqual(Array(2).fill(new Date(now.getTime() + HOUR_MS)));
  });

  it('ends no later than its authority', async () => {
    const { certificate, authority: issuer } = await authority();
    const leaf = await issueLeaf(issuer, 'spiffe://a/b', { now, lifetimeMs: 100_000 * HOUR_MS });
    expect(leaf.notAfter).toEqual(certificate.validToDate);
  });

  it('is not signed while its authority is not valid', async () => {
    const { certificate, authority: issuer } = await authority();
    const sign = async (at: number) => issueLeaf(issuer, 'spiffe://a/b', { now: new Date(at), lifetimeMs: HOUR_MS });
    const [first, end] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
    await expect(sign(first - 1)).rejects.toThrow('is valid from 2025-12-31T23:59:00.000Z on');
    await expect(sign(end)).rejects.toThrow('has ended at 2035-12-30T00:00:00.000Z');
    expect((await sign(first)).notAfter.getTime()).toBe(first + HOUR_MS);
    expect((await sign(end - 1)).notAfter.getTime()).toBe(end);
  });

  it('can be signed by an authority with an RSA key in the form of a Kuma zone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'meridian-authority-'));
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const keyPem = privateKey.export({ type: 'pkcs1', format: 'pem' }) as string;
    const file = join(folder, 'key.pem');
    writeFileSync(file, keyPem);
    const subject = ['-subj', '/O=Kuma/OU=Mesh/CN=shop', '-days', '3650', '-set_serial', '7'];
    const certPem = execFileSync('openssl', ['req', '-x509', '-new', '-key', file, ...subject], { encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    const leaf = await issueLeaf(await readAuthority({ certPem, keyPem }), 'spiffe://shop/a', {
      now: new Date(),
      lifetimeMs: HOUR_MS,
    });
    const issued = new X509Certificate(leaf.certPem);
    expect(issued.verify(createPublicKey(privateKey)) && issued.checkIssued(new X509Certificate(certPem))).toBe(true);
  });
});

it.each([
  ['at once at the earliest', 24, 0, 0, 0],
  ['within ten minutes', 24, 0, 1, 600_000],
  ['within a fifth of a short life', 0.5, 0, 1, 360_000],
  ['no later than its own renewal', 24, 16, 0, 16 * HOUR_MS],
  ['no later than its own renewal, at the end of its life', 24, 23, 1, 19.2 * HOUR_MS],
])('renews a certificate of an earlier authority %s', (_, hours, after, random, expected) => {
  const leaf = { issuedAt: now, notAfter: new Date(now.getTime() + hours * HOUR_MS) };
  expect(resigningOf(leaf, now.getTime() + after * HOUR_MS, random) - now.getTime()).toBeCloseTo(expected, 3);
});

it('renews a certificate between two thirds and four fifths of its life', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e10 }), fc.double({ min: 0, max: 1, noNaN: true }), (life, random) => {
      const at = renewalOf({ issuedAt: now, notAfter: new Date(now.getTime() + life) }, random) - now.getTime();
      expect(at).toBeGreaterThanOrEqual((life * 2) / 3 - 1);
      expect(at).toBeLessThanOrEqual((life * 4) / 5 + 1);
    }),
  );
});

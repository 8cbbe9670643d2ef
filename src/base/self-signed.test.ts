// Generated certificates in a TLS handshake on loopback between two ends that trust only the CA.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, createSelfSigned, type Authority, type Certificate } from './self-signed.ts';

let authority: Authority;
let other: Authority;
let issued: Certificate;

beforeAll(async () => {
  [authority, other] = await Promise.all([createAuthority('meridian', new Date()), createAuthority('meridian', new Date())]);
  issued = await authority.issue({ hosts: ['localhost', 'global.example', '127.0.0.1'] });
});

/** Shakes hands with a server of `certificate` and hears a word from it. */
async function greet(certificate: Certificate, options: ConnectionOptions, mutual?: { readonly ca: string }): Promise<string> {
  const server = createServer(
    { cert: certificate.certPem, key: certificate.keyPem, ...(mutual && { ca: mutual.ca, requestCert: true }) },
    (socket) => {
      socket.on('error', () => undefined);
      socket.end('hello');
    },
  );
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await hear(
      connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, minVersion: 'TLSv1.2', ...options }),
    );
  } finally {
    server.close();
  }
}

async function hear(socket: TLSSocket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

describe('a certificate issued by an authority', () => {
  it.each([
    ['an address', {}],
    ['a name', { servername: 'localhost' }],
    ['another name', { servername: 'global.example' }],
  ])('is trusted under %s by a peer that trusts the CA', async (_, options) => {
    expect(await greet(issued, { ca: authority.certPem, ...options })).toBe('hello');
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('serves %s', async (version) => {
    expect(await greet(issued, { ca: authority.certPem, minVersion: version, maxVersion: version })).toBe('hello');
  });

  it('is not trusted for a host that it does not name', async () => {
    const elsewhere = greet(issued, { ca: authority.certPem, servername: 'elsewhere.example' });
    await expect(elsewhere).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    const named = await authority.issue({ hosts: ['localhost'] });
    await expect(greet(named, { ca: authority.certPem })).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  it('is not trusted by a peer without the CA, or with another CA of the same name', async () => {
    await expect(greet(issued, { ca: other.certPem })).rejects.toThrow(/signature|certificate|self-signed/i);
    await expect(greet(issued, {})).rejects.toThrow(/certificate/i);
  });

  it('is trusted beside other CAs of the same name in one file', async () => {
    for (const ca of [other.certPem + authority.certPem, authority.certPem + other.certPem])
      expect(await greet(issued, { ca })).toBe('hello');
  });

  it('authenticates a client too', async () => {
    const client = await authority.issue({ hosts: ['east'] });
    const mutual = { ca: authority.certPem };
    const options = { ca: authority.certPem, cert: client.certPem, key: client.keyPem };
    expect(await greet(issued, options, mutual)).toBe('hello');
    await expect(greet(issued, { ca: authority.certPem }, mutual)).rejects.toThrow();
  });

  it('cannot sign other certificates', () => {
    const [ca, leaf] = [new X509Certificate(authority.certPem), new X509Certificate(issued.certPem)];
    expect([ca.ca, leaf.ca]).toEqual([true, false]);
    expect(leaf.checkIssued(ca)).toBe(true);
    expect(leaf.verify(ca.publicKey)).toBe(true);
    expect(leaf.verify(new X509Certificate(other.certPem).publicKey)).toBe(false);
  });

  it('names its hosts only', () => {
    expect(new X509Certificate(issued.certPem).subjectAltName).toBe('DNS:localhost, DNS:global.example, IP Address:127.0.0.1');
  });

  it('has a serial number and a key of its own', async () => {
    const again = await authority.issue({ hosts: ['localhost'] });
    const serials = [authority, issued, again].map(({ certPem }) => new X509Certificate(certPem).serialNumber);
    expect(new Set(serials).size).toBe(3);
    expect(new Set([authority, issued, again].map(({ keyPem }) => keyPem)).size).toBe(3);
  });

  it('is valid from before its creation, and for years', () => {
    for (const { certPem } of [authority, issued]) {
      const { validFrom, validTo } = new X509Certificate(certPem);
      const days = (Date.parse(validTo) - Date.parse(validFrom)) / 86_400_000;
      expect(Date.parse(validFrom)).toBeLessThan(Date.now() - 3_600_000);
      expect(days).toBeGreaterThan(3_600);
    }
  });
});

describe('a certificate that signs itself', () => {
  it('is trusted, as a server or as a client, by a peer that has it', async () => {
    const [server, client] = await Promise.all([
      createSelfSigned('server', ['global.example', '127.0.0.1'], new Date()),
      createSelfSigned('client', ['jo'], new Date()),
    ]);
    const options = { ca: server.certPem, cert: client.certPem, key: client.keyPem };
    expect(await greet(server, { ...options, servername: 'global.example' }, { ca: client.certPem })).toBe('hello');
    await expect(greet(server, {})).rejects.toThrow(/self-signed/i);
  });

  it('is trusted beside another one of the same name in one file, in any order', async () => {
    const [one, two] = await Promise.all([1, 2].map(() => createSelfSigned('server', ['127.0.0.1'], new Date())));
    if (one === undefined || two === undefined) throw new Error('no certificates');
    for (const ca of [one.certPem + two.certPem, two.certPem + one.certPem])
      for (const server of [one, two]) expect(await greet(server, { ca })).toBe('hello');
  });

  it('is not trusted for another key usage', async () => {
    const client = await createSelfSigned('client', ['127.0.0.1'], new Date());
    await expect(greet(client, { ca: client.certPem })).rejects.toThrow(/purpose/i);
  });

  it('names its hosts and ends with a newline', async () => {
    const { certPem, keyPem } = await createSelfSigned('server', ['global.example', '::1'], new Date());
    const { subject, subjectAltName, ca } = new X509Certificate(certPem);
    expect([subject, subjectAltName, ca]).toEqual(['CN=global.example', 'DNS:global.example, IP Address:0:0:0:0:0:0:0:1', true]);
    for (const text of [certPem, keyPem]) expect(text).toMatch(/-----\n$/);
  });
});

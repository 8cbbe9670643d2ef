import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { loadConfig } from './config.ts';
import { createLogger } from './log.ts';
import { serverTls } from './server-tls.ts';

it('a certificate that is made here has the name and each address of the machine, for clients on other machines', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-server-tls-'));
  try {
    const { dpServer, general } = loadConfig({ mode: 'zone' }).config;
    const keep = { folder: join(folder, 'dp-server'), log: createLogger('silent') };
    const { material } = await serverTls('dpServer', dpServer, general, systemClock, keep);
    const certificate = new X509Certificate(material.cert);
    const addresses = Object.values(networkInterfaces()).flatMap((several = []) => several);
    // A loopback interface may have more, such as ::6, from which a redirected proxy connects. No other machine reaches them.
    const reachable = addresses
      .filter(({ internal, scopeid }) => !internal && (scopeid ?? 0) === 0)
      .map(({ address }) => address);
    for (const address of ['127.0.0.1', '::1', ...reachable]) expect(certificate.checkIP(address)).toBe(address);
    for (const name of ['localhost', hostname()]) expect(certificate.checkHost(name)).toBe(name);
  } finally {
    await rm(folder, { recursive: true });
  }
});

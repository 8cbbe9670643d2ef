import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { createAuthority } from './self-signed.ts';
import { endOfCertificate, followTlsFiles, POLL_MS, readTlsFiles, type TlsFiles } from './tls-material.ts';

it('reports changed files only when key and certificate match', async () => {
  const folder = temporaryFolder();
  const files: TlsFiles = { keyOfConfig: 'x.tlsCertFile', cert: join(folder, 'cert'), key: join(folder, 'key'), ca: '' };
  const authority = await createAuthority('test', new Date());
  const [first, second] = [await authority.issue({ hosts: ['a'] }), await authority.issue({ hosts: ['b'] })];
  await writeFile(files.cert, first.certPem);
  await writeFile(files.key, first.keyPem);
  const clock = new ManualClock();
  const stop = new AbortController();
  const changes: string[] = [];
  const failures: string[] = [];
  const follow = {
    clock,
    current: await readTlsFiles(files),
    onChange: ({ cert }: { cert: Buffer }) => void changes.push(cert.toString()),
    onFailure: (reason: string) => void failures.push(reason),
  };
  const following = followTlsFiles(files, follow, stop.signal);
  /** Looks until the files were read: reading takes real time. */
  const look = async (isDone: () => boolean): Promise<void> => {
    await expect.poll(async () => (await clock.advance(POLL_MS), isDone())).toBe(true);
  };
  await writeFile(files.cert, second.certPem);
  await look(() => failures.length > 0);
  expect(changes).toEqual([]);
  await writeFile(files.key, second.keyPem);
  await look(() => changes.length > 0);
  expect(changes).toEqual([second.certPem]);
  expect(failures).toEqual([`x.tlsCertFile: ${files.cert} and ${files.key} are not a certificate and its key in PEM`]);
  stop.abort();
  await clock.advance(POLL_MS);
  await following;
  await expect(readTlsFiles({ ...files, cert: join(folder, 'none') })).rejects.toThrow('x.tlsCertFile');
});

it("gives the expiry of the first certificate of the file, which is the server's own", async () => {
  const authority = await createAuthority('test', new Date());
  const { certPem } = await authority.issue({ hosts: ['a'] });
  const end = new X509Certificate(certPem).validToDate;
  expect(endOfCertificate({ cert: Buffer.from(`a comment\n${certPem}${authority.certPem}`) })).toEqual(end);
  expect(endOfCertificate({ cert: Buffer.from('nothing') })).toBeNull();
});

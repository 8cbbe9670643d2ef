// TLS of a server of this process: its own files, else those of `general`, else a certificate made here (rest-api 7.1). Files are
// watched, so that a renewed certificate needs no restart.
import { readFile } from 'node:fs/promises';
import { hostname, networkInterfaces } from 'node:os';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import { messageOf } from './errors.ts';
import { keptCertificate, type KeptFiles } from './kept-certificate.ts';
import type { Logger } from './log.ts';
import { endOfCertificate, followTlsFiles, readTlsFiles, type TlsFiles, type TlsMaterial } from './tls-material.ts';

/** The keys that the servers have in common. */
type TlsKeys = {
  readonly tlsCertFile: string;
  readonly tlsKeyFile: string;
  /** Without it, clients show no certificate. */
  readonly tlsCaFile?: string;
  readonly requireClientCert?: boolean;
  readonly tlsMinVersion: '' | 'TLSv1_2' | 'TLSv1_3';
};

type ServerTls = {
  readonly material: TlsMaterial;
  readonly requireClientCert: boolean;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** The expiry of the certificate in use; null if unknown. */
  readonly endsAt: () => Date | null;
  /** Calls `replace` whenever the files have changed, until the signal aborts. It returns at once when there are no files. */
  readonly follow: (replace: (material: TlsMaterial) => void, signal: AbortSignal, log: Logger) => Promise<void>;
};

/** The folder of a certificate that is made here: clients trust it after a restart too. */
type KeepIn = { readonly folder: string; readonly log: Logger };

/**
 * @param section path of `keys` in the configuration, for messages
 * @param keep left out: a certificate that is made here goes with the process
 * @throws MeridianError `config` when the files cannot be used
 */
export async function serverTls(
  section: string,
  keys: TlsKeys,
  general: Config['general'],
  clock: Clock,
  keep?: KeepIn,
): Promise<ServerTls> {
  const minVersion = (keys.tlsMinVersion || general.tlsMinVersion) === 'TLSv1_3' ? 'TLSv1.3' : 'TLSv1.2';
  const { requireClientCert = false, tlsCaFile: ca = '' } = keys;
  const given = { cert: keys.tlsCertFile || general.tlsCertFile, key: keys.tlsKeyFile || general.tlsKeyFile };
  const isGiven = given.cert !== '' && given.key !== '';
  const pair = isGiven ? given : keep === undefined ? null : await kept(keep, clock.now());
  if (pair === null) {
    const material = await selfSigned(ca, clock.now());
    return { material, requireClientCert, minVersion, endsAt: () => endOfCertificate(material), follow: async () => undefined };
  }
  const files: TlsFiles = { keyOfConfig: `${section}.tlsCertFile`, ...pair, ca };
  const material = await readTlsFiles(files);
  let inUse = material;
  return {
    material,
    requireClientCert,
    minVersion,
    endsAt: () => endOfCertificate(inUse),
    follow: (replace, signal, log) =>
      followTlsFiles(
        files,
        {
          clock,
          current: material,
          onChange: (next) => {
            replace(next);
            inUse = next;
            log.info({ file: files.cert }, 'a new certificate is in force');
          },
          onFailure: (reason) => log.error({ reason }, 'the certificate files cannot be used; the old ones stay in force'),
        },
        signal,
      ),
  };
}

/** Returns null where the folder cannot be written. */
async function kept({ folder, log }: KeepIn, now: Date): Promise<KeptFiles | null> {
  return await keptCertificate(folder, ownHosts(), now).catch((error: unknown) => {
    const about = { folder, reason: messageOf(error) };
    log.warn(about, 'the certificate that is made here cannot be kept: clients will not know this process after a restart');
    return null;
  });
}

/**
 * The hosts under which clients may know this process: localhost, and the name and the addresses of the machine. Link-local
 * addresses have a scope.
 */
function ownHosts(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((several = []) => several);
  const reachable = addresses.filter(({ internal, scopeid }) => !internal && !scopeid).map(({ address }) => address);
  return [...new Set(['localhost', '127.0.0.1', '::1', hostname(), ...reachable])];
}

async function selfSigned(caFile: string, now: Date): Promise<TlsMaterial> {
  const { createAuthority } = await import('./self-signed.ts');
  const authority = await createAuthority('meridian', now);
  const { certPem, keyPem } = await authority.issue({ hosts: ownHosts() });
  const pair = { cert: Buffer.from(certPem), key: Buffer.from(keyPem), ca: null };
  if (caFile === '') return pair;
  return { ...pair, ca: await readFile(caFile) };
}

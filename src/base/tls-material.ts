// Certificate, key and CA of a server as files, read again while it runs: a renewed certificate needs no restart.
// Invariant: key and certificate always match. A half-written or wrong pair leaves the previous one in force.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { every, type Clock } from './clock.ts';
import { MeridianError, messageOf } from './errors.ts';

/** Certificates and key in PEM. `ca` signs the client certificates; null requires none. */
export type TlsMaterial = { readonly cert: Buffer; readonly key: Buffer; readonly ca: Buffer | null };

/** The paths of the files; `''` for `ca` where clients show no certificate. `keyOfConfig` names them in errors. */
export type TlsFiles = { readonly keyOfConfig: string; readonly cert: string; readonly key: string; readonly ca: string };

/** The interval of checks of the files, in milliseconds. */
export const POLL_MS = 2_000;

/** @throws MeridianError `config` when a file cannot be read or key and certificate do not belong together */
export async function readTlsFiles(files: TlsFiles): Promise<TlsMaterial> {
  return checked(files, await readFiles(files));
}

async function readFiles(files: TlsFiles): Promise<TlsMaterial> {
  const { keyOfConfig } = files;
  const read = async (path: string): Promise<Buffer> =>
    await readFile(path).catch((cause: unknown) => {
      throw new MeridianError('config', `${keyOfConfig}: ${path} cannot be read: ${messageOf(cause)}`, { cause });
    });
  const [cert, key, ca] = await Promise.all([read(files.cert), read(files.key), files.ca === '' ? null : read(files.ca)]);
  return { cert, key, ca };
}

/** @throws MeridianError `config` when they do not belong together */
function checked({ keyOfConfig, ...files }: TlsFiles, material: TlsMaterial): TlsMaterial {
  const { cert, key, ca } = material;
  try {
    createSecureContext({ cert, key, ...(ca !== null && { ca }) });
  } catch (cause) {
    // The parser's message may quote the file.
    throw new MeridianError('config', `${keyOfConfig}: ${files.cert} and ${files.key} are not a certificate and its key in PEM`, {
      cause,
    });
  }
  return material;
}

/** The expiry of the first certificate of the file, which is the server's own; null if unknown. */
export function endOfCertificate({ cert }: Pick<TlsMaterial, 'cert'>): Date | null {
  try {
    return new X509Certificate(cert).validToDate;
  } catch {
    return null;
  }
}

type Follow = {
  readonly clock: Clock;
  /** The material in use. */
  readonly current: TlsMaterial;
  readonly onChange: (material: TlsMaterial) => void;
  /** It is called once for each new reason why the files cannot be used. */
  readonly onFailure: (reason: string) => void;
};

/** Watches the files until the signal aborts, and passes on each change. */
export async function followTlsFiles(files: TlsFiles, follow: Follow, signal: AbortSignal): Promise<void> {
  let { current } = follow;
  let lastFailure = '';
  await every(follow.clock, POLL_MS, signal, async () => {
    try {
      const next = await readFiles(files);
      // A check costs more than a read.
      if (!isSame(next, current)) follow.onChange((current = checked(files, next)));
      lastFailure = '';
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== lastFailure) follow.onFailure(reason);
      lastFailure = reason;
    }
  });
}

function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.cert.equals(b.cert) && a.key.equals(b.key) && (a.ca === b.ca || (a.ca !== null && b.ca?.equals(a.ca) === true));
}

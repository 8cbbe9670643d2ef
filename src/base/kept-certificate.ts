// A self-signed certificate that stays: clients that trust it do so after a restart too. Invariant: key and certificate come
// together, also when two processes make them at once.
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The paths of the PEM files. */
export type KeptFiles = { readonly cert: string; readonly key: string };

/**
 * Makes the folder with a key and a certificate unless it exists. Rejects with the error of the file system.
 * @param hosts DNS names and IP addresses of a new certificate
 */
export async function keptCertificate(folder: string, hosts: readonly string[], now: Date): Promise<KeptFiles> {
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  if (await exists(folder)) return files;
  const { createSelfSigned } = await import('./self-signed.ts');
  const { certPem, keyPem } = await createSelfSigned('server', hosts, now);
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  const made = await mkdtemp(`${folder}-`);
  try {
    await writeFile(join(made, 'cert.pem'), certPem);
    await writeFile(join(made, 'key.pem'), keyPem, { mode: 0o600 });
    await rename(made, folder);
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    // Another process was faster.
    if (!(await exists(folder))) throw error;
  }
  return files;
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

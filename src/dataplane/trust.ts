// The credentials of a proxy: its token, the CA of the control plane, the CAs of the machine.
import { access, readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { MeridianError } from '../base/errors.ts';

/** Where Linux distributions and macOS keep the certificates that they trust. */
const SYSTEM_CAS = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

export type TokenSource = { readonly token: string | undefined; readonly file: string | undefined };

/**
 * The token of a Dataplane, read again at each call; `''` without one.
 * @throws MeridianError `config` that names the option, never the token
 */
export async function readDataplaneToken({ token, file }: TokenSource): Promise<string> {
  if (token === undefined && file === undefined) return '';
  const option = file === undefined ? '--dataplane-token' : '--dataplane-token-file';
  const text = (file === undefined ? (token ?? '') : await readText(option, file)).trim();
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return text;
  const where = file === undefined ? 'the value' : file;
  throw new MeridianError('config', `${option}: ${where} is no token; \`meridian generate dataplane-token\` prints one`);
}

/** The PEM text of `--ca-cert-file`; `''` without one. @throws MeridianError `config` for a file without a certificate */
export async function readCaFile(file: string | undefined): Promise<string> {
  if (file === undefined) return '';
  const text = await readText('--ca-cert-file', file);
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new MeridianError('config', `--ca-cert-file: ${file} holds no certificate in PEM form`);
}

/** The file with the CAs that this machine trusts; `''` if it is at none of the usual places. */
export async function systemCaFile(): Promise<string> {
  for (const path of SYSTEM_CAS) {
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return '';
}

/** Whether a network interface other than the loopback has an IPv6 address that leads out of its link. */
export function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses = []) =>
    addresses.some(
      ({ family, internal, address }) => family === 'IPv6' && !internal && !address.toLowerCase().startsWith('fe80:'),
    ),
  );
}

async function readText(option: string, file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((cause: unknown) => {
    const why = (cause as { code?: string }).code ?? 'unknown error';
    throw new MeridianError('config', `${option}: ${file} cannot be read (${why})`, { cause });
  });
}

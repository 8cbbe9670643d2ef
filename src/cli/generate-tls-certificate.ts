// `meridian generate tls-certificate`: a key and a certificate that signs itself, in files that only this user can read.
import { open } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { MeridianError, messageOf } from '../base/errors.ts';
import { UsageError } from './exit-codes.ts';
import { collect } from './options.ts';
import { note } from './output.ts';

type Options = {
  readonly type: 'server' | 'client';
  readonly hostname?: readonly string[];
  readonly certFile: string;
  readonly keyFile: string;
  readonly overwrite?: boolean;
};

const HELP = `
It is a CA of its own: give the certificate, never the key, to those who are to
trust it (--ca-cert-file, multizone.zone.kds.rootCaFile).

Examples:
  meridian generate tls-certificate --type server --hostname global.example
  meridian generate tls-certificate --type client --hostname jo \\
    --cert-file jo.pem --key-file jo.key`;

export function addGenerateTlsCertificate(generate: Command): void {
  generate
    .command('tls-certificate')
    .description('a key and a certificate for a server or a client')
    .addOption(new Option('--type <type>', 'who shows it').choices(['server', 'client']).makeOptionMandatory())
    .option('--hostname <host>', 'DNS name or IP address it is for; may be given again', collect)
    .option('--cert-file <file>', 'where the certificate goes, - for standard output', 'cert.pem')
    .option('--key-file <file>', 'where the key goes, - for standard output', 'key.pem')
    .option('--overwrite', 'replace files that are there')
    .addHelpText('after', HELP)
    .action(generateCertificate);
}

async function generateCertificate({ type, hostname = [], certFile, keyFile, overwrite = false }: Options): Promise<void> {
  const hosts = hostname.flatMap((host) => host.split(',')).filter((host) => host !== '');
  if (hosts.length === 0) throw new UsageError('--hostname: give at least one name or address that the certificate is for');
  const { createSelfSigned } = await import('../base/self-signed.ts');
  const { certPem, keyPem } = await createSelfSigned(type, hosts);
  await put('--key-file', keyFile, keyPem, overwrite);
  await put('--cert-file', certFile, certPem, overwrite);
  note(`certificate of ${hosts.join(', ')} in ${certFile}, its key in ${keyFile}; it is good for ten years`);
}

async function put(option: string, file: string, text: string, overwrite: boolean): Promise<void> {
  if (file === '-') {
    process.stdout.write(text);
    return;
  }
  try {
    const handle = await open(file, overwrite ? 'w' : 'wx', 0o600);
    try {
      await handle.chmod(0o600);
      await handle.writeFile(text);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const { code } = cause as { code?: string };
    const why = code === 'EEXIST' ? 'it is there already; --overwrite replaces it' : messageOf(cause);
    throw new MeridianError('invalid', `${option}: cannot write ${file}: ${why}`, { cause });
  }
}

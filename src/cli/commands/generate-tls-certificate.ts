// `meridian generate tls-certificate`: a key in a file that only this user can read, and a self-signed certificate that all can read.
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { isDnsName } from '../../resource/dns-name.ts';
import { UsageError } from '../exit-codes.ts';
import { collect } from '../options.ts';
import { note } from '../output.ts';
import { requireWritable, writePrivateFile, type PrivateFile } from '../secrets/private-file.ts';

type Options = {
  readonly type: 'server' | 'client';
  readonly hostname?: readonly string[];
  readonly certFile: string;
  readonly keyFile: string;
  readonly force?: boolean;
  /** The name of the option in kumactl. */
  readonly overwrite?: boolean;
};

const HELP = `
The certificate signs itself. Give it, never its key, to each client that must
trust it (--ca-cert-file, multizone.zone.kds.rootCaFile).

Examples:
  meridian generate tls-certificate --type server --hostname global.example
  meridian generate tls-certificate --type client --hostname jo \\
    --cert-file jo.pem --key-file jo.key`;

export function addGenerateTlsCertificate(generate: Command): void {
  generate
    .command('tls-certificate')
    .description('a key and a certificate for a server or a client')
    .addOption(new Option('--type <type>', 'the side that presents it').choices(['server', 'client']).makeOptionMandatory())
    .option('--hostname <host>', 'DNS name or IP address of the certificate; may be given again', collect)
    .option('--cert-file <file>', 'where the certificate goes, - for standard output', 'cert.pem')
    .option('--key-file <file>', 'where the key goes, - for standard output', 'key.pem')
    .option('--force', 'replace existing files')
    .addOption(new Option('--overwrite', 'the same, as kumactl calls it').hideHelp())
    .addHelpText('after', HELP)
    .action(generateCertificate);
}

async function generateCertificate({ type, hostname = [], certFile, keyFile, ...replacing }: Options): Promise<void> {
  const replace = replacing.force === true || replacing.overwrite === true;
  const hosts = hostname.flatMap((host) => host.split(',')).filter((host) => host !== '');
  if (hosts.length === 0) throw new UsageError('--hostname: give at least one name or address that the certificate is for');
  for (const host of hosts) {
    if (!isCertified(host))
      throw new UsageError(
        `--hostname: ${JSON.stringify(host)} is no IP address and no DNS name: letters, digits, hyphens and dots`,
      );
  }
  const [key, certificate] = [
    { option: '--key-file', path: keyFile, replace },
    { option: '--cert-file', path: certFile, replace, isPublic: true },
  ];
  if (keyFile !== '-' && resolve(keyFile) === resolve(certFile))
    throw new UsageError(`--cert-file: ${certFile} is the file of the key; give it another name`);
  // A key without its certificate would not fit the certificate that is there.
  for (const file of [key, certificate]) if (file.path !== '-') await requireWritable(file);
  const { createSelfSigned } = await import('../../base/self-signed.ts');
  const { certPem, keyPem } = await createSelfSigned(type, hosts, new Date());
  await put(key, keyPem);
  await put(certificate, certPem);
  note(`certificate of ${hosts.join(', ')} in ${certFile}, its key in ${keyFile}; it is valid for ten years`);
}

/** An IP address or a DNS name, whose first label may be `*`. */
function isCertified(host: string): boolean {
  return isIP(host) !== 0 || isDnsName(host.toLowerCase().replace(/^\*\./, ''));
}

async function put(file: PrivateFile, text: string): Promise<void> {
  if (file.path === '-') process.stdout.write(text);
  else await writePrivateFile(file, text);
}

// `meridian generate signing-key|public-key`: the keys of tokens, for a secret or for offline signing.
import { createPublicKey } from 'node:crypto';
import { Option, type Command } from 'commander';
import { addSecretOptions, secretOutput, type SecretOptions } from '../secrets/secret-output.ts';
import { readSigningKey } from '../secrets/signing-key.ts';

const SIGNING_HELP = `
pem-base64 is the form of the field data of a secret. The holder of the key can
sign tokens: keep it secret.

Examples:
  meridian generate signing-key --format pem --out key.pem
  meridian apply -f - <<END
  type: GlobalSecret
  name: zone-token-signing-key-2
  data: $(meridian generate signing-key)
  END`;

const PUBLIC_HELP = `
A control plane that has it in validator.publicKeys of its configuration takes
tokens of the private key, and cannot sign any.

Examples:
  meridian generate public-key --signing-key-path key.pem > key.pub.pem`;

export function addGenerateKeys(generate: Command): void {
  addSecretOptions(generate.command('signing-key').description('a new key that signs tokens'))
    .addOption(new Option('--format <format>', 'form of the key').choices(['pem-base64', 'pem']).default('pem-base64'))
    .addHelpText('after', SIGNING_HELP)
    .action(async ({ format, ...secret }: SecretOptions & { format: string }) => {
      const { createSigningKey } = await import('../../defaults/signing-key.ts');
      const write = await secretOutput(secret);
      const pem = await createSigningKey();
      await write(format === 'pem' ? pem : `${Buffer.from(pem).toString('base64')}\n`);
    });
  generate
    .command('public-key')
    .description('the public half of a signing key, in PEM')
    .requiredOption('--signing-key-path <file>', 'private key in PEM')
    .addHelpText('after', PUBLIC_HELP)
    .action(async ({ signingKeyPath }: { signingKeyPath: string }) => {
      const key = createPublicKey(await readSigningKey(signingKeyPath));
      process.stdout.write(key.export({ type: 'pkcs1', format: 'pem' }));
    });
}

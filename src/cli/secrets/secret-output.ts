// `--out FILE [--force]` of the commands that create a secret: a private file in place of standard output.
import type { Command } from 'commander';
import { UsageError } from '../exit-codes.ts';
import { note } from '../output.ts';
import { requireWritable, writePrivateFile } from './private-file.ts';

export type SecretOptions = { readonly out?: string | undefined; readonly force?: boolean | undefined };

export function addSecretOptions(command: Command): Command {
  return command
    .option('--out <file>', 'write it to this file, which only you can read, - for standard output', '-')
    .option('--force', 'replace an existing file');
}

/**
 * @returns a function that writes the secret; call it once
 * @throws UsageError, or MeridianError `invalid` if the file must not be written
 */
export async function secretOutput({ out = '-', force = false }: SecretOptions): Promise<(secret: string) => Promise<void>> {
  if (out === '-') {
    if (force) throw new UsageError('--force: give --out FILE with it');
    return (secret) => Promise.resolve(void process.stdout.write(secret));
  }
  const file = { option: '--out', path: out, replace: force };
  await requireWritable(file);
  return async (secret) => {
    await writePrivateFile(file, secret);
    note(`written to ${out}, which only its owner can read`);
  };
}

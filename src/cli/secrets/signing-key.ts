// `--signing-key-path FILE --kid KID`: a token is signed with a key from a file, without a control plane (rest-api 6).
import { readFile } from 'node:fs/promises';
import type { KeyObject } from 'node:crypto';
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { ConnectOptions } from '../client/connect.ts';
import { UsageError } from '../exit-codes.ts';

export type SigningKeyOptions = { readonly signingKeyPath?: string | undefined; readonly kid?: string | undefined };

export function addSigningKeyOptions(command: Command): Command {
  return command
    .optionsGroup('Without a control plane:')
    .option('--signing-key-path <file>', 'private key that signs, in PEM')
    .option('--kid <kid>', 'number of the key, as in zone-token-signing-key-<kid>; or its kid in validator.publicKeys')
    .optionsGroup('Options:');
}

/**
 * @param request body of `POST /tokens/<kind>`
 * @param connection options for a control plane, which must be absent
 * @throws UsageError, or MeridianError that names the file or the invalid fields
 */
export async function signHere(
  kind: 'zone' | 'user' | 'dataplane',
  request: JsonObject,
  { signingKeyPath, kid = '' }: SigningKeyOptions,
  connection: ConnectOptions,
): Promise<string> {
  if (signingKeyPath === undefined || kid === '') throw new UsageError('give --signing-key-path and --kid together');
  if (Object.keys(connection).length > 0) throw new UsageError('--signing-key-path excludes the options of a control plane');
  const privateKey = await readSigningKey(signingKeyPath);
  const { signOffline } = await import('../../token/sign-offline.ts');
  return await signOffline(kind, request, { kid, privateKey }, () => new Date());
}

/** @throws MeridianError `config` that names the file and never contains its content */
export async function readSigningKey(path: string): Promise<KeyObject> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const why = (cause as { code?: string }).code ?? 'unknown error';
    throw new MeridianError('config', `--signing-key-path: ${path} cannot be read (${why})`, { cause });
  });
  const { parseSigningKey } = await import('../../token/sign-offline.ts');
  const key = parseSigningKey(text);
  if (key !== null) return key;
  throw new MeridianError(
    'config',
    `--signing-key-path: ${path} holds no RSA private key of at least 2048 bits in PEM without a password;\n` +
      '`meridian generate signing-key --format pem` prints one',
  );
}

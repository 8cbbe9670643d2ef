// Chooses a control plane from options, environment and contexts. Flags override the environment, which overrides the current
// context.
// Invariant: the token of a context is sent only to the address of that context.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { MeridianError, messageOf } from '../../base/errors.ts';
import { ApiClient } from './api-client.ts';
import { readContexts, requireControlPlane, type Contexts, type ControlPlane } from './contexts.ts';
import { UsageError } from '../exit-codes.ts';
import type { Endpoint } from './http-call.ts';

export const DEFAULT_ADDRESS = 'http://127.0.0.1:5681';

export type ConnectOptions = Partial<Omit<ControlPlane, 'name'>> & { readonly context?: string };

type Env = Readonly<Record<string, string | undefined>>;

/** The options of every command that talks to a control plane. */
export function addConnectOptions(command: Command): Command {
  command
    .optionsGroup('Control plane:')
    .option('--address <url>', `control plane (MERIDIAN_ADDRESS; ${DEFAULT_ADDRESS})`)
    .option('--context <name>', 'a name of `meridian config control-planes list`');
  return addCredentialOptions(command).optionsGroup('Options:');
}

/** Credentials for the control plane, and the CA to trust. */
export function addCredentialOptions(command: Command): Command {
  return command
    .option('--token-file <file>', 'user token to send')
    .option('--token <token>', 'the token itself; other users may see it (MERIDIAN_TOKEN)')
    .option('--ca-cert-file <file>', 'CA that signed the certificate of the server')
    .option('--client-cert-file <file>', 'certificate to show to the server')
    .option('--client-key-file <file>', 'its key')
    .option('--skip-verify', 'do not verify the certificate; for tests only');
}

/** The options again, for a command that people copy; each begins with a space. A token stays out of it. */
export function connectWords({ token: _token, skipVerify, ...values }: ConnectOptions): string {
  const { address, context, tokenFile, caCertFile, clientCertFile, clientKeyFile } = values;
  const named = Object.entries({
    ...{ '--address': address, '--context': context, '--token-file': tokenFile, '--ca-cert-file': caCertFile },
    ...{ '--client-cert-file': clientCertFile, '--client-key-file': clientKeyFile },
  });
  const words = named.flatMap(([option, value]) => (value === undefined ? [] : [` ${option} ${shellWord(value)}`]));
  return `${words.join('')}${skipVerify === true ? ' --skip-verify' : ''}`;
}

function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export async function connect(options: ConnectOptions): Promise<ApiClient> {
  return new ApiClient(await endpointOf(chooseControlPlane(options, process.env, await readContexts())));
}

/** @throws UsageError for options that exclude each other, and for an unknown context */
export function chooseControlPlane(options: ConnectOptions, env: Env, contexts: Contexts): ControlPlane {
  if (options.address !== undefined && options.context !== undefined)
    throw new UsageError('give --address or --context, not both');
  // The token of the options, else that of the environment, else that of the context.
  const isGiven = options.token !== undefined || options.tokenFile !== undefined;
  const token = isGiven ? undefined : env['MERIDIAN_TOKEN'] || undefined;
  const instead = isGiven || token !== undefined ? { token, tokenFile: undefined } : {};
  return { ...baseOf(options, env, contexts), ...instead, ...credentialsOf(options) };
}

function baseOf({ address, context }: ConnectOptions, env: Env, contexts: Contexts): ControlPlane {
  if (address !== undefined) return { name: '', address };
  if (context !== undefined) return requireControlPlane(contexts, context);
  const fromEnv = env['MERIDIAN_ADDRESS'] ?? '';
  if (fromEnv !== '') return { name: '', address: fromEnv };
  if (contexts.current !== null) return requireControlPlane(contexts, contexts.current);
  return { name: '', address: DEFAULT_ADDRESS };
}

/** The credentials among the options. @throws UsageError for options that exclude or require each other */
export function credentialsOf(options: ConnectOptions): Omit<ControlPlane, 'name' | 'address'> {
  const { token, tokenFile, caCertFile, clientCertFile, clientKeyFile, skipVerify } = options;
  if (token !== undefined && tokenFile !== undefined) throw new UsageError('give --token or --token-file, not both');
  if ((clientCertFile === undefined) !== (clientKeyFile === undefined))
    throw new UsageError('give --client-cert-file and --client-key-file together');
  const given = { token, tokenFile, caCertFile, clientCertFile, clientKeyFile, skipVerify };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Reads the files that a control plane names. @throws MeridianError `config` with the option and the file */
export async function endpointOf({ address, token, skipVerify, ...files }: ControlPlane): Promise<Endpoint> {
  const read = async (option: string, file: string | undefined): Promise<string | undefined> => {
    if (file === undefined) return undefined;
    return await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new MeridianError('config', `${option}: cannot read ${file}: ${messageOf(cause)}`, { cause });
    });
  };
  const fromFile = token ?? (await read('--token-file', files.tokenFile))?.trim();
  if (fromFile !== undefined && !/^[\x21-\x7e]+$/.test(fromFile))
    throw new MeridianError('config', `${token === undefined ? '--token-file' : '--token'}: this is not a token`);
  return {
    address: address.replace(/(?<!\/)\/+$/, ''),
    token: fromFile,
    ca: await read('--ca-cert-file', files.caCertFile),
    clientCert: await read('--client-cert-file', files.clientCertFile),
    clientKey: await read('--client-key-file', files.clientKeyFile),
    skipVerify,
  };
}

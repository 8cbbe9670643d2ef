// The control planes of a person, by name: `~/.meridian/config.yaml` (YAML). The file may have tokens, so it is written atomically
// with mode 0600, in a folder of mode 0700.
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { MeridianError, messageOf } from '../../base/errors.ts';
import { UsageError } from '../exit-codes.ts';
import { isObject } from '../../resource/read-json.ts';

/** Files are absolute paths. */
export type ControlPlane = {
  readonly name: string;
  readonly address: string;
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly caCertFile?: string | undefined;
  readonly clientCertFile?: string | undefined;
  readonly clientKeyFile?: string | undefined;
  readonly skipVerify?: boolean | undefined;
};

export type Contexts = { readonly current: string | null; readonly controlPlanes: readonly ControlPlane[] };

const TEXTS = ['name', 'address', 'token', 'tokenFile', 'caCertFile', 'clientCertFile', 'clientKeyFile'] as const;

export function contextsFile(): string {
  return join(homedir(), '.meridian', 'config.yaml');
}

/** A missing file means no control planes. @throws MeridianError `config` that names the file and the error */
export async function readContexts(file = contextsFile()): Promise<Contexts> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ENOENT') return { current: null, controlPlanes: [] };
    throw new MeridianError('config', `cannot read ${file}: ${messageOf(cause)}`, { cause });
  }
  return parseContexts(text, file);
}

/** @throws MeridianError `config` */
export function parseContexts(text: string, file: string): Contexts {
  const refuse = (what: string): never => {
    throw new MeridianError('config', `${file}: ${what}; correct it, or remove it and add the control planes again`);
  };
  let content: unknown;
  try {
    content = parse(text) ?? {};
  } catch (error) {
    refuse(messageOf(error).split('\n')[0] ?? '');
  }
  if (!isObject(content)) return refuse('must hold `current` and `controlPlanes`');
  const { current = null, controlPlanes = [] } = content;
  if (current !== null && typeof current !== 'string') return refuse('current: must be the name of a control plane');
  if (!Array.isArray(controlPlanes)) return refuse('controlPlanes: must be a list');
  for (const [index, one] of (controlPlanes as unknown[]).entries()) {
    const at = `controlPlanes[${String(index)}]`;
    if (!isObject(one) || typeof one['name'] !== 'string' || typeof one['address'] !== 'string')
      return refuse(`${at}: must have a name and an address`);
    for (const key of TEXTS)
      if (one[key] !== undefined && typeof one[key] !== 'string') return refuse(`${at}.${key}: must be a string`);
  }
  return { current, controlPlanes: controlPlanes as ControlPlane[] };
}

export async function writeContexts(contexts: Contexts, file = contextsFile()): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${String(process.pid)}`;
  await writeFile(draft, stringify(contexts), { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, file);
}

/** Adds a control plane and makes it the current one. @throws UsageError when the name is taken and `overwrite` is off */
export function addControlPlane(contexts: Contexts, added: ControlPlane, { overwrite }: { overwrite: boolean }): Contexts {
  const others = contexts.controlPlanes.filter(({ name }) => name !== added.name);
  if (others.length < contexts.controlPlanes.length && !overwrite)
    throw new UsageError(`there is a control plane ${JSON.stringify(added.name)} already; --overwrite replaces it`);
  return { current: added.name, controlPlanes: [...others, added] };
}

/** @throws UsageError when no context has that name */
export function removeControlPlane(contexts: Contexts, name: string): Contexts {
  requireControlPlane(contexts, name);
  return {
    current: contexts.current === name ? null : contexts.current,
    controlPlanes: contexts.controlPlanes.filter((one) => one.name !== name),
  };
}

/** @throws UsageError that lists the existing names */
export function requireControlPlane({ controlPlanes }: Contexts, name: string): ControlPlane {
  const found = controlPlanes.find((one) => one.name === name);
  if (found !== undefined) return found;
  const known = controlPlanes.map((one) => one.name);
  const what =
    known.length === 0 ? 'none has been added: `meridian config control-planes add` does it' : `there are ${known.join(', ')}`;
  throw new UsageError(`no control plane is called ${JSON.stringify(name)}; ${what}`);
}

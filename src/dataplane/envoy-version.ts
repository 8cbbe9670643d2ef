// The version of an Envoy. Asking for it also shows that the program runs on this machine.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MeridianError, messageOf } from '../base/errors.ts';

const LIMIT_MS = 30_000;
/** `envoy  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL` */
const VERSION = /version:\s*(\S+\/(\d+\.\d+\.\d+[^/\s]*)\/\S+)/;

/** The version, such as `1.40.0`. @throws MeridianError as `readEnvoyBuild` */
export async function readEnvoyVersion(path: string): Promise<string> {
  return (await readEnvoyBuild(path)).version;
}

/**
 * The version of an Envoy and its whole text.
 * @throws MeridianError `config` when the program does not run, or is no Envoy
 */
export async function readEnvoyBuild(path: string): Promise<{ version: string; build: string }> {
  let text: string;
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: LIMIT_MS, maxBuffer: 64 * 1024 });
    text = stdout;
  } catch (cause) {
    const { stderr = '', code } = cause as { stderr?: string; code?: unknown };
    const [line = ''] = stderr.trim().split('\n');
    const why = line !== '' ? line : typeof code === 'string' ? code : messageOf(cause);
    throw new MeridianError('config', `${path} does not run on this machine: ${why}`, { cause });
  }
  const [, build = '', version = ''] = VERSION.exec(text) ?? [];
  if (version === '') throw new MeridianError('config', `${path} is no Envoy: \`--version\` prints no version`);
  return { version, build };
}

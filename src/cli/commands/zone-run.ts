// `meridian zone run`: a zone control plane, with a global or on its own.
import type { Command } from 'commander';
import { addConfigOptions, runUntilStopped, type ConfigOptions } from '../run-control-plane.ts';

export function addZoneRun(zone: Command): void {
  addConfigOptions(zone.command('run').description('run a zone control plane until it is stopped'), 'zone')
    .addHelpText(
      'after',
      '\nExamples:\n  meridian zone run --name east --global-address grpcs://global.example:5685\n  meridian zone run --name alone',
    )
    .action((options: ConfigOptions) => runUntilStopped('zone', options));
}

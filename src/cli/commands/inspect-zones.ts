// `meridian inspect zones`: the connection of each zone, and its sync problems.
import type { Command } from 'commander';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addOutputOption, type OutputOptions } from '../options.ts';
import { printList } from '../output.ts';
import { problemLines, ZONE_COLUMNS } from '../views/overview-columns.ts';
import { itemTable } from '../views/table.ts';

const HELP = `
Below the table are sync problems with their reasons, and tokens that expire
soon.

Examples:
  meridian inspect zones
  meridian inspect zones -o yaml`;

export function addInspectZones(inspect: Command): void {
  addConnectOptions(addOutputOption(inspect.command('zones').description('the connection of each zone')))
    .addHelpText('after', HELP)
    .action(inspectZones);
}

async function inspectZones({ output, ...connection }: ConnectOptions & OutputOptions): Promise<void> {
  printList(await (await connect(connection)).pages('/zones/_overview'), output, {
    nothing: 'no zone has connected yet; `meridian zone run --help` shows how one does',
    text: (items) => [itemTable(ZONE_COLUMNS, items, { wide: output === 'wide' }), ...items.flatMap(problemLines)].join('\n'),
  });
}

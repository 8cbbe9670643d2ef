// `meridian version`: the version of this command and of its control plane.
import { Option, type Command } from 'commander';
import { productName, productVersion } from '../../base/version.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { print, serialize } from '../output.ts';

type Options = ConnectOptions & { readonly all?: boolean; readonly output: 'text' | 'json' | 'yaml' };

export function addVersionCommand(program: Command): void {
  const command = program
    .command('version')
    .description('the version of this command, and with -a of the control plane')
    .option('-a, --all', 'ask the control plane too')
    .addOption(new Option('-o, --output <format>', 'form of the answer').choices(['text', 'json', 'yaml']).default('text'));
  addConnectOptions(command)
    .addHelpText('after', '\nExamples:\n  meridian version\n  meridian version -a --context prod')
    .action(version);
}

async function version({ all = false, output, ...connection }: Options): Promise<void> {
  const own = { product: productName, version: productVersion };
  const client = all ? await connect(connection) : undefined;
  const server = await client?.index();
  if (output !== 'text') print(serialize(server === undefined ? own : { ...own, server }, output));
  else {
    print(`${own.product} ${own.version}`);
    if (server !== undefined)
      print(
        `${server.product} ${server.version} at ${client?.address ?? ''}${server.mode === undefined ? '' : `, ${server.mode}`}`,
      );
  }
}

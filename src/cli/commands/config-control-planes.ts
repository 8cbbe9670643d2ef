// `meridian config control-planes`: the control planes of a person, by name.
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { ApiClient } from '../client/api-client.ts';
import { addCredentialOptions, credentialsOf, endpointOf, type ConnectOptions } from '../client/connect.ts';
import {
  addControlPlane,
  contextsFile,
  readContexts,
  removeControlPlane,
  requireControlPlane,
  writeContexts,
  type ControlPlane,
} from '../client/contexts.ts';
import { UsageError } from '../exit-codes.ts';
import { print, serialize } from '../output.ts';
import { table } from '../views/table.ts';

type AddOptions = ConnectOptions & { name?: string; address: string; overwrite?: boolean; skipCheck?: boolean };

export function addConfigCommand(program: Command): void {
  const config = program
    .command('config')
    .description('the control planes you work with')
    .addHelpText(
      'after',
      '\nExamples:\n  meridian config control-planes add east --address http://127.0.0.1:5691\n  meridian config control-planes list',
    );
  const planes = config
    .command('control-planes')
    .description('control planes by name, kept in ~/.meridian/config.yaml')
    .addHelpText(
      'after',
      '\nExamples:\n  meridian config control-planes add east --address http://127.0.0.1:5691\n  meridian config control-planes use east\n  meridian get meshes --context east',
    );
  named(addCredentialOptions(planes.command('add').description('add a control plane and make it the current one')))
    .requiredOption('--address <url>', 'its REST API, http://HOST:5681')
    .option('--overwrite', 'replace an existing one with this name')
    .option('--skip-check', 'do not check that a control plane answers')
    .addHelpText(
      'after',
      '\nExamples:\n  meridian config control-planes add local --address http://127.0.0.1:5681\n  meridian config control-planes add prod --address https://cp.example:5682 \\\n    --ca-cert-file ca.pem --token-file me.token',
    )
    .action(add);
  named(planes.command('remove').description('forget a control plane'))
    .addHelpText('after', '\nExamples:\n  meridian config control-planes remove east')
    .action(async (positional: string | undefined, { name }: { name?: string }) => {
      const wanted = nameOf(positional, name);
      await writeContexts(removeControlPlane(await readContexts(), wanted));
      print(`removed control plane ${wanted}`);
    });
  named(planes.command('use').alias('switch').description('make a control plane the current one'))
    .addHelpText('after', '\nExamples:\n  meridian config control-planes use prod')
    .action(async (positional: string | undefined, { name }: { name?: string }) => {
      const contexts = await readContexts();
      const { name: current, address } = requireControlPlane(contexts, nameOf(positional, name));
      await writeContexts({ ...contexts, current });
      print(`working with control plane ${current} at ${address}`);
    });
  planes
    .command('list')
    .description('the added control planes; * marks the current one')
    .addOption(new Option('-o, --output <format>', 'form of the answer').choices(['table', 'json', 'yaml']).default('table'))
    .addHelpText('after', '\nExamples:\n  meridian config control-planes list')
    .action(list);
}

/** kumactl takes the name as `--name`; here it may also be an argument. */
function named(command: Command): Command {
  return command.argument('[name]', 'name of the control plane').option('--name <name>', 'the same as an option');
}

function nameOf(positional: string | undefined, option: string | undefined): string {
  if (positional !== undefined && option !== undefined && positional !== option)
    throw new UsageError('the argument NAME and --name differ');
  const name = positional ?? option;
  if (name === undefined || name === '') throw new UsageError('give the name of the control plane');
  return name;
}

async function add(positional: string | undefined, options: AddOptions): Promise<void> {
  const name = nameOf(positional, options.name);
  const added: ControlPlane = {
    name,
    address: options.address.replace(/(?<!\/)\/+$/, ''),
    ...absoluteFiles(credentialsOf(options)),
  };
  const contexts = addControlPlane(await readContexts(), added, { overwrite: options.overwrite === true });
  const endpoint = await endpointOf(added);
  if (options.skipCheck !== true) {
    const { product, version } = await new ApiClient(endpoint).index();
    print(`${added.address} is ${product} ${version}`);
  }
  await writeContexts(contexts);
  print(`added control plane ${name} to ${contextsFile()}; it is the current one`);
}

/** Makes paths absolute: later commands run in other folders. */
function absoluteFiles(credentials: Omit<ControlPlane, 'name' | 'address'>): Omit<ControlPlane, 'name' | 'address'> {
  return Object.fromEntries(
    Object.entries(credentials).map(([key, value]) => [
      key,
      key.endsWith('File') && typeof value === 'string' ? resolve(value) : value,
    ]),
  );
}

async function list({ output }: { output: 'table' | 'json' | 'yaml' }): Promise<void> {
  const { current, controlPlanes } = await readContexts();
  const shown = controlPlanes.map(({ token, ...rest }) => ({ ...rest, ...(token !== undefined && { token: '*****' }) }));
  if (output !== 'table') {
    print(serialize({ current, controlPlanes: shown }, output));
    return;
  }
  if (shown.length === 0) print('no control plane has been added; `meridian config control-planes add` does it');
  else
    print(
      table(
        ['ACTIVE', 'NAME', 'ADDRESS'],
        shown.map(({ name, address }) => [name === current ? '*' : '', name, address]),
      ),
    );
}

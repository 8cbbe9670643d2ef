// `meridian inspect policy TYPE NAME`: the proxies that a policy configures, or why there are none.
import type { Command } from 'commander';
import type { Answer } from '../../answers/answers.ts';
import { MeridianError } from '../../base/errors.ts';
import { itemPath } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { findOne, requireType } from '../client/find.ts';
import { addLookupOptions, type LookupOptions } from '../options.ts';
import { isForPrograms, print, serialize } from '../output.ts';
import { describeReach } from '../views/policy-reach-text.ts';

const HELP = `
Examples:
  meridian inspect policy meshtimeout slow --mesh shop
  meridian inspect policy mhttpr cart-route --mesh shop -o wide`;

type Options = ConnectOptions & LookupOptions;

export function addInspectPolicy(inspect: Command): void {
  const command = inspect
    .command('policy')
    .description('the proxies that a policy configures, and the reasons for the others')
    .argument('<type>', 'type, plural or short name of a policy: MeshTimeout, meshtimeouts, mt')
    .argument('<name>', 'display name or stored name');
  addConnectOptions(addLookupOptions(command)).addHelpText('after', HELP).action(inspectPolicy);
}

async function inspectPolicy(typeName: string, name: string, { mesh, namespace, output, ...connection }: Options): Promise<void> {
  const info = requireType(typeName);
  if (info.policy === null)
    throw new MeridianError(
      'invalid',
      `${info.name} is not a policy, so it applies to no proxies; name a type such as MeshTimeout`,
    );
  const client = await connect(connection);
  const found = await findOne(client, info, mesh, name, { command: `inspect policy ${info.name}`, namespace });
  const path = `${itemPath(info, mesh, found.name)}/_reach`;
  const reach = (await client.readWhole(path, 'touched')) as unknown as Answer<'Reach'>;
  print(isForPrograms(output) ? serialize(reach, output) : describeReach(reach, mesh, { wide: output === 'wide' }));
}

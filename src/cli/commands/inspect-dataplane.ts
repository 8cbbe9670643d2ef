// `meridian inspect dataplane NAME`: for each outbound and route the conf in force, and the policy of each value.
import type { Command } from 'commander';
import type { Answer } from '../../answers/answers.ts';
import { MeridianError } from '../../base/errors.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { pathPart } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { describeEffective } from '../views/effective-text.ts';
import { findOne } from '../client/find.ts';
import { addLookupOptions, type LookupOptions } from '../options.ts';
import { isForPrograms, print, serialize } from '../output.ts';

const HELP = `
Global and the zone of the proxy answer the same. Outbounds with one conf stand
together.

Examples:
  meridian inspect dataplane web-1 --mesh shop
  meridian inspect dataplane web-1 --mesh shop --outbound cart
  meridian inspect dataplane web-1 --mesh shop -o yaml
  meridian inspect dataplane web-1 --mesh shop --config
  meridian inspect dataplane web-1 --mesh shop --config --shadow --diff`;

type Options = ConnectOptions & LookupOptions & { outbound?: string; config?: boolean; shadow?: boolean; diff?: boolean };

export function addInspectDataplane(inspect: Command): void {
  const command = inspect
    .command('dataplane')
    .description('the effective policies of a proxy, and which policy set each value')
    .argument('<name>', 'display name or stored name of a Dataplane')
    .option('--outbound <text>', 'only outbounds whose KRI contains this')
    .option('--config', 'the Envoy configuration instead')
    .option('--shadow', 'of --config: with the policies that have the label kuma.io/effect: shadow')
    .option('--diff', 'with --config: only the changes by shadow policies');
  addConnectOptions(addLookupOptions(command)).addHelpText('after', HELP).action(inspectDataplane);
}

async function inspectDataplane(name: string, { mesh, namespace, output, outbound = '', ...options }: Options): Promise<void> {
  const { config = false, shadow = false, diff = false, ...connection } = options;
  if (!config && (shadow || diff)) throw new MeridianError('invalid', '--shadow and --diff are about --config; give it too');
  const client = await connect(connection);
  const found = await findOne(client, typeOf('Dataplane'), mesh, name, { command: 'inspect dataplane', namespace });
  const dataplane = `/meshes/${pathPart(mesh)}/dataplanes/${pathPart(found.name)}`;
  if (config) {
    const query = `shadow=${String(shadow || diff)}${diff ? '&include=diff' : ''}`;
    const { xds, diff: changes } = (await client.read(`${dataplane}/_config?${query}`)) as Answer<'ProxyConfig'>;
    return print(serialize(diff ? (changes ?? []) : xds, isForPrograms(output) ? output : 'yaml'));
  }
  const path = `${dataplane}/_effective`;
  const answer = (await client.readWhole(path, 'outbounds')) as unknown as Answer<'Effective'>;
  const outbounds = answer.outbounds.filter(({ kri }) => kri.includes(outbound));
  const asked = { ...answer, outbounds };
  print(isForPrograms(output) ? serialize(asked, output) : describeEffective(asked, mesh, { wide: output === 'wide' }));
}

// `meridian inspect service NAME`: for each zone, whether it reaches the service locally, through which ingress and SNI, or why not.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import { displayNameOf } from '../../resource/labels.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { ApiClient, Item } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addMeshOption, addOutputOption, type MeshOptions, type OutputOptions } from '../options.ts';
import { printList } from '../output.ts';
import { table } from '../views/table.ts';
import { externalServiceReach, meshServiceReach, servicesBehind, type ReachLine } from '../views/service-reach.ts';

const HELP = `
A global answers for every zone, a zone for itself.

Examples:
  meridian inspect service cart --mesh shop
  meridian inspect service card-network --mesh payments --context east`;

type Options = ConnectOptions & MeshOptions & OutputOptions;

export function addInspectService(inspect: Command): void {
  const command = inspect
    .command('service')
    .description('how each zone reaches a service, or why it does not')
    .argument('<name>', 'display name or stored name of a MeshService, MeshExternalService or MeshMultiZoneService');
  addConnectOptions(addOutputOption(addMeshOption(command), ['table', 'json', 'yaml']))
    .addHelpText('after', HELP)
    .action(inspectService);
}

/** @throws MeridianError `not_found` */
async function inspectService(name: string, { mesh, output, ...connection }: Options): Promise<void> {
  const lines = await reachLines(await connect(connection), mesh, name);
  if (lines === null) {
    const hint = `\`meridian get meshservices --mesh ${mesh}\` lists them`;
    throw new MeridianError('not_found', `there is no service ${JSON.stringify(name)} in mesh ${JSON.stringify(mesh)}; ${hint}`);
  }
  printList(lines, output, {
    nothing: 'no zone has joined yet, so no proxy could reach it',
    text: () => table(['SERVICE', 'HOME', 'FROM', 'REACHED', 'ADDRESS', 'SNI', 'WHY'], lines.map(cellsOf)),
  });
}

function cellsOf({ service, home, from, how, address, sni, why }: ReachLine): string[] {
  return [service, home, from, how, address || '-', sni || '-', why || '-'];
}

/** Null when no service has the name. */
async function reachLines(client: ApiClient, mesh: string, name: string): Promise<ReachLine[] | null> {
  const listOf = (type: string): Promise<Item[]> => client.list(typeOf(type), mesh);
  const services = await listOf('MeshService');
  const [externals, multiZones] = [await listOf('MeshExternalService'), await listOf('MeshMultiZoneService')];
  const isMeant = (item: Item): boolean => item.name === name || displayNameOf(item) === name;
  const own = services.filter(isMeant);
  const external = externals.filter(isMeant);
  const multiZone = multiZones.filter(isMeant);
  if (own.length + external.length + multiZone.length === 0) return null;
  const { zone = null } = await client.index();
  const zones = (await client.list(typeOf('Zone'), undefined)).map((item) => ({
    name: item.name,
    isEnabled: item['enabled'] !== false,
  }));
  const facts = { zones, asked: zone, addresses: await listOf('MeshZoneAddress') };
  const all = new Set([...own, ...multiZone.flatMap((item) => servicesBehind(item, services))]);
  return [
    ...[...all].flatMap((item) => meshServiceReach(item, facts)),
    ...external.flatMap((item) => externalServiceReach(item, facts)),
  ];
}

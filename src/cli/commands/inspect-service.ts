// `meridian inspect service NAME`: for each zone, whether it reaches the service locally, through which ingress and SNI, or why not; and
// the whole way from a caller to a server, with the state of each part.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import { displayNameOf } from '../../resource/labels.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { Answer } from '../../answers/answers.ts';
import { itemPath, type ApiClient, type Item } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addMeshOption, addOutputOption, type MeshOptions, type OutputOptions } from '../options.ts';
import { isForPrograms, print, printList, serialize } from '../output.ts';
import { table } from '../views/table.ts';
import { externalServiceReach, meshServiceReach, servicesBehind, type ReachLine } from '../views/service-reach.ts';
import { describeWays } from '../views/service-ways-text.ts';

const HELP = `
A global answers for every zone, a zone for itself. Each way has its callers,
the zone proxies on it and its servers.

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
  const client = await connect(connection);
  const found = await findServices(client, mesh, name);
  if (found === null) {
    const hint = `\`meridian get meshservices --mesh ${mesh}\` lists them`;
    throw new MeridianError('not_found', `there is no service ${JSON.stringify(name)} in mesh ${JSON.stringify(mesh)}; ${hint}`);
  }
  const ways = await waysOf(client, mesh, found.meant);
  if (isForPrograms(output)) {
    print(serialize(ways, output));
    return;
  }
  printList(found.lines, output, {
    nothing: 'no zone has joined yet, so no proxy could reach it',
    text: () => table(['SERVICE', 'HOME', 'FROM', 'REACHED', 'ADDRESS', 'SNI', 'WHY'], found.lines.map(cellsOf)),
  });
  if (ways.length > 0) print(`\n${describeWays(ways)}`);
}

type Ways = Answer<'Ways'>['items'];

async function waysOf(client: ApiClient, mesh: string, services: readonly Item[]): Promise<Ways> {
  const answers: Ways[number][] = [];
  for (const { type, name } of services) {
    const path = `${itemPath(typeOf(type), mesh, name)}/_ways`;
    answers.push(...((await client.readWhole(path, 'items')) as unknown as Answer<'Ways'>).items);
  }
  return answers;
}

function cellsOf({ service, home, from, how, address, sni, why }: ReachLine): string[] {
  return [service, home, from, how, address || '-', sni || '-', why || '-'];
}

/** Returns null when no service has the name. */
async function findServices(
  client: ApiClient,
  mesh: string,
  name: string,
): Promise<{ readonly lines: ReachLine[]; readonly meant: readonly Item[] } | null> {
  const listOf = (type: string): Promise<Item[]> => client.list(typeOf(type), mesh);
  const services = await listOf('MeshService');
  const [externals, multiZones] = [await listOf('MeshExternalService'), await listOf('MeshMultiZoneService')];
  const isMeant = (item: Item): boolean => item.name === name || displayNameOf(item) === name;
  const own = services.filter(isMeant);
  const external = externals.filter(isMeant);
  const multiZone = multiZones.filter(isMeant);
  if (own.length + external.length + multiZone.length === 0) return null;
  const { zone = null } = await client.index();
  const zones = (await client.pages('/zones/_overview')).map((item) => {
    const { sync } = item as unknown as Partial<Answer<'ZoneOverview'>>;
    const isEnabled = sync?.state !== 'disabled';
    return { name: item.name, isEnabled, unheard: sync === undefined || sync.connection === 'online' ? '' : sync.reason };
  });
  const facts = { zones, asked: zone, addresses: await listOf('MeshZoneAddress') };
  const all = new Set([...own, ...multiZone.flatMap((item) => servicesBehind(item, services))]);
  const lines = [
    ...[...all].flatMap((item) => meshServiceReach(item, facts)),
    ...external.flatMap((item) => externalServiceReach(item, facts)),
  ];
  return { lines, meant: [...own, ...multiZone, ...external] };
}

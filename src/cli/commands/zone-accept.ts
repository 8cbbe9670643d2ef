// `meridian zone adopt` and `meridian zone accept-global`: a person accepts another peer under a known name.
import type { Command } from 'commander';
import { pathPart } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { UsageError } from '../exit-codes.ts';
import { print } from '../output.ts';
import { textOf } from '../../resource/read-json.ts';

type AdoptOptions = ConnectOptions & { readonly storeId?: string; readonly forget?: boolean };
type AcceptOptions = ConnectOptions & { readonly clusterId?: string };

const ADOPT_HELP = `
Global remembers which database speaks for a zone and refuses another one.
Stop the old control plane first: resources that the new one lacks are removed
from global. The command needs an admin of global.

Examples:
  meridian zone adopt east
  meridian zone adopt east --store-id 3f6f1c56-2f1c-4b5e-9f0a-3f7f2f0c8d11
  meridian zone adopt east --forget`;

const ACCEPT_HELP = `
A zone remembers the cluster id of its global and refuses another one. What the
new global does not have in its meshes is removed from the zone; meshes that it
has never had stay. The command needs an admin of the zone.

Examples:
  meridian zone accept-global --address http://zone-east.example:5681
  meridian zone accept-global --cluster-id 0b6f2c1e-7f0a-4d0b-8d0e-5d4f8d1c9a55`;

export function addZoneAdopt(zone: Command): void {
  addConnectOptions(
    zone
      .command('adopt')
      .description('on global: accept another database as the store of a zone')
      .argument('<name>', 'name of the zone')
      .option('--store-id <id>', 'the store to accept; without it the one that was refused last')
      .option('--forget', 'accept the next store that connects, because the known one is lost'),
  )
    .addHelpText('after', ADOPT_HELP)
    .action(adopt);
}

export function addZoneAcceptGlobal(zone: Command): void {
  addConnectOptions(
    zone
      .command('accept-global')
      .description('on a zone: accept another global')
      .option('--cluster-id <id>', 'cluster id of the global; without it the one that was refused last'),
  )
    .addHelpText('after', ACCEPT_HELP)
    .action(acceptGlobal);
}

async function adopt(name: string, { storeId, forget, ...connection }: AdoptOptions): Promise<void> {
  if (storeId !== undefined && forget === true) throw new UsageError('give --store-id or --forget, not both');
  const client = await connect(connection);
  const body = { ...(storeId !== undefined && { storeId }), ...(forget === true && { forget }) };
  const answer = await client.act(`/zones/${pathPart(name)}/_adopt`, body);
  const accepted = textOf(answer['storeId']);
  print(accepted === '' ? `zone ${name}: the next store that connects is accepted` : `zone ${name} belongs to store ${accepted}`);
}

async function acceptGlobal({ clusterId, ...connection }: AcceptOptions): Promise<void> {
  const client = await connect(connection);
  const answer = await client.act('/_accept-global', clusterId === undefined ? {} : { clusterId });
  print(`this zone belongs to cluster ${textOf(answer['clusterId'])}; it connects within 15 s`);
}

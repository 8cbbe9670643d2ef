// `meridian inspect dataplanes`: the proxies of a mesh and how they are connected.
import type { Command } from 'commander';
import { label } from '../../resource/labels.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import { pathPart, type Item } from '../client/api-client.ts';
import { displayName } from '../views/columns.ts';
import type { Column } from '../views/column.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { isOnline, lastOf, sumOf, type Subscription } from '../views/insight-subscriptions.ts';
import { addMeshOption, addOutputOption, collect, isForPrograms, type MeshOptions, type OutputOptions } from '../options.ts';
import { ageOf, note, print, serialize, table } from '../output.ts';
import { selectionOf } from '../client/selector.ts';
import { SELECTOR_HELP } from '../client/label-requirements.ts';
import { objectOf } from '../../resource/read-json.ts';

type Options = ConnectOptions &
  MeshOptions &
  OutputOptions & {
    allMeshes?: boolean;
    selector?: readonly string[];
    zone?: string;
    gateway?: boolean;
    tag?: readonly string[];
  };

const HELP = `
Status: Online, Offline, or Partially degraded where some inbound is not ready.
-o wide adds certificates, versions and labels.

Examples:
  meridian inspect dataplanes --mesh shop
  meridian inspect dataplanes -A --zone east
  meridian inspect dataplanes -l 'app in (cart,web)'

${SELECTOR_HELP}`;

export function addInspectDataplanes(inspect: Command): void {
  const command = addMeshOption(inspect.command('dataplanes').description('the proxies of a mesh and how they are connected'))
    .option('-A, --all-meshes', 'of all meshes')
    .option('-l, --selector <labels>', 'only with these labels: team=a,tier!=db,!old; see below', collect)
    .option('--zone <zone>', 'only those of this zone')
    .option('--gateway', 'only gateways');
  addConnectOptions(addOutputOption(command)).addHelpText('after', HELP).action(inspectDataplanes);
}

async function inspectDataplanes(options: Options): Promise<void> {
  const { mesh, allMeshes = false, output, selector, zone, gateway = false, ...connection } = options;
  const prefix = allMeshes ? '' : `/meshes/${pathPart(mesh)}`;
  const { filter, matches } = selectionOf({ selector, zone });
  const client = await connect(connection);
  const query = { ...filter, ...(gateway && { gateway: 'true' }) };
  const items = await client.pages(`${prefix}/dataplanes/_overview`, query, ({ labels = {} }) => matches?.(labels) ?? true);
  if (isForPrograms(output)) {
    print(serialize({ total: items.length, items }, output));
    return;
  }
  if (items.length === 0) {
    note(`no dataplanes${allMeshes ? '' : ` in mesh ${mesh}; -A shows all meshes`}`);
    return;
  }
  const columns = DATAPLANE_COLUMNS.filter((column) => output === 'wide' || column.wide !== true);
  print(
    table(
      columns.map(({ head }) => head),
      items.map((item) => columns.map((column) => column.of(item))),
    ),
  );
}

/** All but the wide ones fit 80 columns. */
export const DATAPLANE_COLUMNS: readonly Column[] = [
  { head: 'MESH', of: ({ mesh = '' }) => mesh },
  { head: 'NAME', of: displayName },
  { head: 'ZONE', of: ({ labels }) => labels?.[label.zone] ?? '-' },
  { head: 'STATUS', of: statusOf },
  { head: 'CONNECTED', of: (item) => ageOf(lastOf(subscriptionsOf(item))?.connectTime) },
  { head: 'UPDATES', wide: true, of: (item) => sumOf(subscriptionsOf(item), 'responsesSent') },
  { head: 'ERRORS', of: (item) => sumOf(subscriptionsOf(item), 'responsesRejected') },
  { head: 'UPDATED', wide: true, of: (item) => ageOf(lastOf(subscriptionsOf(item))?.status?.lastUpdateTime) },
  { head: 'ADDRESS', wide: true, of: (item) => textOf(networkingOf(item)['address']) },
  { head: 'CERT EXPIRES', wide: true, of: (item) => textOf(certificateOf(item)['certificateExpirationTime']) },
  { head: 'CERT BACKEND', wide: true, of: (item) => textOf(certificateOf(item)['issuedBackend']) },
  { head: 'KUMA-DP', wide: true, of: (item) => lastOf(subscriptionsOf(item))?.version?.kumaDp?.version ?? '-' },
  { head: 'ENVOY', wide: true, of: (item) => lastOf(subscriptionsOf(item))?.version?.envoy?.version ?? '-' },
  { head: 'STORED NAME', wide: true, of: ({ name }) => name },
];

/** Gateways by connection; others are offline too when nothing is ready, degraded when something is not (rest-api 3). */
export function statusOf(item: Item): string {
  if (!isOnline(subscriptionsOf(item))) return 'Offline';
  const { gateway, inbound = [], listeners = [] } = networkingOf(item);
  if (gateway !== undefined) return 'Online';
  const states = [inbound, listeners].flatMap((list) => (Array.isArray(list) ? list : [])).map((one) => objectOf(one)['state']);
  const counted = states.filter((state) => state !== 'Ignored');
  const ready = counted.filter((state) => state === undefined || state === 'Ready');
  if (counted.length > 0 && ready.length === 0) return 'Offline';
  return ready.length < counted.length ? 'Partially degraded' : 'Online';
}

function subscriptionsOf({ dataplaneInsight }: Item): Subscription[] {
  const { subscriptions = [] } = objectOf(dataplaneInsight) as { subscriptions?: Subscription[] };
  return subscriptions;
}

function networkingOf({ dataplane }: Item): JsonObject {
  return objectOf(objectOf(dataplane)['networking']);
}

function certificateOf({ dataplaneInsight }: Item): JsonObject {
  return objectOf(objectOf(dataplaneInsight)['mTLS']);
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' && value !== '' ? value : '-';
}

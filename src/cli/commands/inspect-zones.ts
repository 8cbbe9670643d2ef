// `meridian inspect zones`: online or not, since when, and their sync problems.
import type { Command } from 'commander';
import type { Item } from '../client/api-client.ts';
import type { Column } from '../views/column.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { isOnline, lastOf, sumOf, type Subscription } from '../views/insight-subscriptions.ts';
import { addOutputOption, isForPrograms, type OutputOptions } from '../options.ts';
import { ageOf, note, print, serialize, table } from '../output.ts';
import { visibleLine } from '../../base/visible-text.ts';
import { objectOf } from '../../resource/read-json.ts';

type Problem = { stream: string; type: string; kind: string; resources: string[]; count: number; message: string };

const HELP = `
Below the table stands what does not get through and why, and which tokens
expire soon.

Examples:
  meridian inspect zones
  meridian inspect zones -o yaml`;

export function addInspectZones(inspect: Command): void {
  addConnectOptions(addOutputOption(inspect.command('zones').description('which zones are connected, and since when')))
    .addHelpText('after', HELP)
    .action(inspectZones);
}

async function inspectZones({ output, ...connection }: ConnectOptions & OutputOptions): Promise<void> {
  const items = await (await connect(connection)).zoneOverviews();
  if (isForPrograms(output)) {
    print(serialize({ total: items.length, items }, output));
    return;
  }
  if (items.length === 0) {
    note('no zone has connected yet; `meridian zone run --help` shows how one does');
    return;
  }
  const columns = ZONE_COLUMNS.filter((column) => output === 'wide' || column.wide !== true);
  print(
    table(
      columns.map(({ head }) => head),
      items.map((item) => columns.map((column) => column.of(item))),
    ),
  );
  for (const item of items) for (const line of problemLines(item)) print(line);
}

/** A text of a peer stays on its line, or in the indented lines of its message: none looks like a problem of another zone. */
export function problemLines(item: Item): string[] {
  const { syncProblems = [], warnings = [] } = item as unknown as { syncProblems?: Problem[]; warnings?: string[] };
  const problems = syncProblems.flatMap(({ stream, type, kind, resources, count, message }) => {
    const names = resources.length === 0 ? 'all' : visibleLine(resources.join(', '));
    const more = count > resources.length ? ` and ${String(count - resources.length)} more` : '';
    const way = stream === 'globalToZone' ? `global → ${item.name}` : `${item.name} → global`;
    const what = kind === 'suspected' ? `refused: at least one of ${String(count)}` : kind;
    return ['', `${way}: ${visibleLine(type)} ${what}: ${names}${more}`, ...message.split('\n').map((line) => `  ${line}`)];
  });
  return [...problems, ...warnings.flatMap((warning) => ['', visibleLine(warning)])];
}

/** All but the wide ones fit 80 columns. */
export const ZONE_COLUMNS: readonly Column[] = [
  { head: 'NAME', of: ({ name }) => name },
  { head: 'STATUS', of: statusOf },
  { head: 'CONNECTED', of: (item) => ageOf(lastOf(subscriptionsOf(item))?.connectTime) },
  { head: 'UPDATED', of: (item) => ageOf(lastOf(subscriptionsOf(item))?.status?.lastUpdateTime) },
  { head: 'UPDATES', of: (item) => sumOf(subscriptionsOf(item), 'responsesSent') },
  { head: 'ERRORS', of: (item) => sumOf(subscriptionsOf(item), 'responsesRejected') },
  { head: 'VERSION', of: (item) => lastOf(subscriptionsOf(item))?.version?.kumaCp?.version ?? '-' },
  { head: 'STORE', wide: true, of: (item) => storeOf(lastOf(subscriptionsOf(item))?.config) },
];

function statusOf(item: Item): string {
  if (objectOf(item['zone'])['enabled'] === false) return 'Disabled';
  return isOnline(subscriptionsOf(item)) ? 'Online' : 'Offline';
}

function subscriptionsOf({ zoneInsight }: Item): Subscription[] {
  const { subscriptions = [] } = objectOf(zoneInsight) as { subscriptions?: Subscription[] };
  return subscriptions;
}

function storeOf(config: string | undefined): string {
  try {
    return (JSON.parse(config ?? '') as { store?: { type?: string } }).store?.type ?? '-';
  } catch {
    return '-';
  }
}

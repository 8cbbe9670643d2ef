// How the zones are doing: online or not, since when, and what of their sync does not work.
import { ApiClient, type Item } from './api-client.ts';
import { ageOf, print, serialize, table, type Format } from './output.ts';

type Problem = { stream: string; type: string; kind: string; resources: string[]; count: number; message: string };

type Subscription = {
  connectTime?: string;
  disconnectTime?: string;
  status?: { lastUpdateTime?: string; total?: { responsesSent?: string; responsesRejected?: string } };
  version?: { kumaCp?: { version?: string } };
  config?: string;
};

/** `meridian inspect zones`: a row a zone, and below it what does not get through and why. */
export async function inspectZones({ address, output }: { address: string; output: Format }): Promise<void> {
  const items = await new ApiClient(address).zoneOverviews();
  if (output === 'json' || output === 'yaml') {
    print(serialize({ total: items.length, items }, output));
    return;
  }
  if (items.length === 0) {
    print('no zone has connected yet');
    return;
  }
  print(table(['NAME', 'STATUS', 'CONNECTED', 'UPDATED', 'UPDATES', 'ERRORS', 'VERSION', 'STORE'], items.map(zoneRow)));
  for (const item of items) for (const line of problemLines(item)) print(line);
}

function problemLines(item: Item): string[] {
  const { syncProblems = [] } = item as unknown as { syncProblems?: Problem[] };
  return syncProblems.flatMap(({ stream, type, kind, resources, count, message }) => {
    const names = resources.length === 0 ? 'the peer does not say which' : resources.join(', ');
    const more = count > resources.length ? ` and ${String(count - resources.length)} more` : '';
    const way = stream === 'globalToZone' ? `global → ${item.name}` : `${item.name} → global`;
    return ['', `${way}: ${type} ${kind}: ${names}${more}`, ...message.split('\n').map((line) => `  ${line}`)];
  });
}

function zoneRow(item: Item): string[] {
  const { zone, zoneInsight } = item as unknown as {
    zone: { enabled?: boolean };
    zoneInsight?: { subscriptions?: Subscription[] };
  };
  const subscriptions = zoneInsight?.subscriptions ?? [];
  const last = subscriptions.at(-1);
  const online = subscriptions.some(
    ({ connectTime, disconnectTime }) => connectTime !== undefined && disconnectTime === undefined,
  );
  const sum = (key: 'responsesSent' | 'responsesRejected'): string =>
    String(subscriptions.reduce((total, { status }) => total + Number(status?.total?.[key] ?? 0), 0));
  const status = zone.enabled === false ? 'Disabled' : online ? 'Online' : 'Offline';
  return [
    item.name,
    status,
    ageOf(last?.connectTime),
    ageOf(last?.status?.lastUpdateTime),
    sum('responsesSent'),
    sum('responsesRejected'),
    last?.version?.kumaCp?.version ?? '-',
    storeOf(last?.config),
  ];
}

function storeOf(config: string | undefined): string {
  try {
    return (JSON.parse(config ?? '') as { store?: { type?: string } }).store?.type ?? '-';
  } catch {
    return '-';
  }
}

import { get } from './session.ts';

type Insight = { readonly resources?: Readonly<Record<string, { readonly total: number }>> };

/** How many resources each type has. */
export async function loadTotals(signal: AbortSignal): Promise<Readonly<Record<string, number>>> {
  const { resources = {} } = await get<Insight>('/global-insight', signal);
  return Object.fromEntries(Object.entries(resources).map(([type, { total }]) => [type, total]));
}

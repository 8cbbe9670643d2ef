// `--wait`: follows the rollouts of several resources until each connected zone has answered, or the time is over.
import { Option, type Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import { parseGoDuration } from '../../base/duration.ts';
import type { Answer } from '../../answers/answers.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import { UsageError } from '../exit-codes.ts';
import { note } from '../output.ts';
import type { ApiClient } from './api-client.ts';

type Rollout = Answer<'Rollout'>;

export type WaitOptions = { readonly wait?: boolean; readonly timeout: string };

/** A resource of which a change was written. @property name stored name */
export type Written = { readonly info: TypeInfo; readonly mesh: string; readonly name: string };

/** The number of requests at the same time: a control plane lets a limited number of them wait. */
const PARALLEL = 8;
const MAX_TIMEOUT_MS = 300_000;

export const WAIT_HELP = `
--wait prints the times of the zones, and the zones that refused it or are away.
Exit codes: 0 every zone has it, 6 a zone refused it or cannot read it, 7 a
connected zone has not answered in time, 8 all connected zones have it and
others are away.`;

export function addWaitOptions(command: Command): Command {
  return command
    .option('--wait', 'wait until every connected zone that should have it has acknowledged it')
    .addOption(new Option('--timeout <duration>', 'the end of the wait, at most 5m').default('30s'));
}

/** The milliseconds to wait; 0 without `--wait`. @throws UsageError */
export function waitOf({ wait = false, timeout }: WaitOptions): number {
  if (!wait) return 0;
  const ms = parseGoDuration(timeout);
  if (ms === null || ms <= 0 || ms > MAX_TIMEOUT_MS)
    throw new UsageError(`--timeout ${JSON.stringify(timeout)} is not valid: give a duration such as 30s, at most 5m`);
  return ms;
}

/** The rollouts of these resources, in their order. All of them share the time. */
async function followRollouts(client: ApiClient, written: readonly Written[], ms: number): Promise<Rollout[]> {
  const end = performance.now() + ms;
  const left = (): number => Math.max(1, Math.round(end - performance.now()));
  const found: Rollout[] = [];
  const queue = written.entries();
  const work = async (): Promise<void> => {
    for (const [index, { info, mesh, name }] of queue)
      found[index] = await client.rollout(info, mesh, name, left()).catch((error: unknown) => {
        if (!(error instanceof MeridianError) || error.code !== 'not_found') throw error;
        return rolloutOfNothing({ info, mesh, name });
      });
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, written.length) }, work));
  return found;
}

/** Returns null for a control plane that cannot wait, such as Kuma: the write is done, so this is no failure. */
export async function rolloutsOf(client: ApiClient, written: readonly Written[], ms: number): Promise<Rollout[] | null> {
  if (ms === 0) return null;
  if ((await client.index()).product === 'Meridian') return await followRollouts(client, written, ms);
  note('this control plane does not say which zones have a change: --wait has no effect');
  return null;
}

/** The rollout of a row that was deleted and was never sent. */
function rolloutOfNothing({ info, mesh, name }: Written): Rollout {
  const counts = { acknowledged: 0, refused: 0, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 0 };
  const note = 'it does not exist, and no change of it is kept';
  return { type: info.name, ...(mesh !== '' && { mesh }), name, note, outcome: 'everywhere', counts, targets: [] };
}

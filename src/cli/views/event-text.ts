// An event of `meridian events` as one line. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';

type Events = Answer<'Events'>;
type Item<Topic extends Exclude<keyof Events, 'resync'>> = Events[Topic]['items'][number];

const TEXTS: Record<string, ((item: never) => string) | undefined> = {
  resync: ({ reason, instanceId }: Events['resync']) => `${reason} at ${instanceId}`,
  zones: (zone: Item<'zones'>) => {
    if ('isRemoved' in zone) return `${zone.name} is deleted`;
    const { state, reason } = zone.sync;
    return `${zone.name} is ${state}${reason === '' ? '' : `: ${reason}`}`;
  },
  lag: ({ name, lagMs, pending }: Item<'lag'>) =>
    lagMs === 0 ? `${name} has everything` : `${name} is ${String(Math.round(lagMs / 1000))}s behind: ${pending.join(', ')}`,
  changes: ({ id, type, mesh, name, isRemoval, targets, applied, refused, slowestMs }: Item<'changes'>) => {
    const what = `${String(id)} ${type} ${mesh === undefined ? '' : `${mesh}/`}${name}${isRemoval ? ' (removed)' : ''}`;
    const slowest = slowestMs === undefined ? '' : `, the last after ${String(slowestMs)} ms`;
    return `${what}: ${String(applied)} of ${String(targets)} have it${refused > 0 ? `, ${String(refused)} refused it` : ''}${slowest}`;
  },
  problems: (problem: Item<'problems'>) =>
    'isSolved' in problem ? `solved: ${problem.id}` : `${problem.id}: ${problem.message}`,
  leader: ({ leader, replicas }: Item<'leader'>) =>
    `${leader ?? 'none'} leads; replicas: ${replicas.map(({ instanceId }) => instanceId).join(', ')}`,
};

/** The time, the topic and the new state. */
export function eventLines(event: string, item: object, now: Date): string {
  const text = TEXTS[event]?.(item as never) ?? JSON.stringify(item);
  return `${now.toISOString().slice(11, 23)}   ${event.padEnd(8)}   ${visibleLine(text)}`;
}

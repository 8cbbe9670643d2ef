// The state of a proxy, from its overview.
import type { Answer } from '../../src/answers/answers.ts';
import type { Tone } from './parts/state-mark.tsx';

type Overview = Answer<'DataplaneOverview'>;

export function proxyState({ dataplaneInsight, insightUnknown, proxyProblemCount = 0 }: Overview): {
  readonly tone: Tone;
  readonly word: string;
} {
  if (insightUnknown !== undefined) return { tone: 'away', word: 'unknown' };
  const isOnline = (dataplaneInsight?.subscriptions ?? []).some(
    ({ connectTime, disconnectTime }) => connectTime !== undefined && disconnectTime === undefined,
  );
  if (proxyProblemCount > 0) return { tone: 'bad', word: isOnline ? 'lacks a part' : 'offline' };
  return isOnline ? { tone: 'ok', word: 'online' } : { tone: 'away', word: 'offline' };
}

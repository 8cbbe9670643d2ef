// The topic `leader`: the replicas of this control plane, when one comes, goes, leads or ceases to lead.
import { aborted } from '../base/supervise.ts';
import type { ReplicaRoster } from '../replicas/replica-roster.ts';
import { replicasAnswer } from '../replicas/replicas-answer.ts';
import type { EventSource } from './event-hub.ts';

export function leaderEvents(roster: ReplicaRoster): EventSource {
  return {
    name: 'leader',
    render: { leader: () => ({ json: JSON.stringify(replicasAnswer(roster)), type: null }) },
    run: async ({ touch, loaded }, signal) => {
      const stop = roster.onChange(() => touch('leader', ''));
      loaded();
      await aborted(signal).finally(stop);
    },
  };
}

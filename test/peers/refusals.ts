// The refused responses and ended streams that a control plane reports.
import type { JsonObject } from '../../src/resource/types.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { readTable } from './table.ts';

type Stat = { readonly responsesRejected?: string };
type Insight = {
  readonly subscriptions?: readonly { id: string; disconnectTime?: string; status?: { stat?: Readonly<Record<string, Stat>> } }[];
};

/** Every type with refused responses, and every sync problem, of all streams on which this control plane is the sender. */
export async function refusalsOf(plane: ControlPlane): Promise<string[]> {
  const insights = (await readTable(plane)).filter(({ type }) => type === 'ZoneInsight');
  return insights.flatMap(({ name, spec, status }) => {
    const { subscriptions = [] } = spec as Insight;
    const rejected = subscriptions.flatMap(({ status: counts }) =>
      Object.entries(counts?.stat ?? {})
        .filter(([, { responsesRejected }]) => responsesRejected !== undefined)
        .map(([type, { responsesRejected }]) => `${name}: ${type} refused ${String(responsesRejected)} times`),
    );
    const problems = (status['syncProblems'] ?? []) as JsonObject[];
    return [...rejected, ...problems.map((problem) => `${name}: ${JSON.stringify(problem)}`)];
  });
}

/** `zone id` of each stream on which this control plane is the sender and that has ended. */
export async function endedStreamsOf(plane: ControlPlane): Promise<string[]> {
  const insights = (await readTable(plane)).filter(({ type }) => type === 'ZoneInsight');
  return insights.flatMap(({ name, spec }) =>
    ((spec as Insight).subscriptions ?? [])
      .filter(({ disconnectTime }) => disconnectTime !== undefined)
      .map(({ id }) => `${name} ${id}`),
  );
}

// Refusals of proxies, for operators: a line in the log, with the policies that caused them.
import type { ProxyEvent, ProxyObserver } from '../ads/proxy-events.ts';
import type { XdsRefusal } from '../ads/session-messages.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import type { DataplaneInsightWriter } from './dataplane-insight-writer.ts';
import { findsPolicies } from './policies-on-resource.ts';
import { withPolicies } from './proxy-troubles.ts';

type ProxyRefusalsOptions = {
  readonly indexes: Pick<MeshIndexes, 'indexOf'>;
  readonly insights: Pick<DataplaneInsightWriter, 'change'>;
  readonly log: Logger;
};

/** The number of lines for one answer of a proxy: it may refuse all that it was sent. */
const MAX_LINES = 20;
/** The number of policies that one line names. */
const MAX_LOGGED = 5;

/** An observer that follows the writer of insights, to whose state it adds. */
export function observeRefusals(options: ProxyRefusalsOptions): ProxyObserver {
  const { log } = options;
  return (event) => {
    // A refusal that names nothing has no policies: halves are sent until the resource is found.
    if (event.kind !== 'refused' || event.refusals.length === 0) return;
    attribute(event, event.refusals, options).catch((error: unknown) => {
      const { mesh, name } = event;
      log.warn({ mesh, dataplane: name, reason: messageOf(error) }, 'the policies of a refused resource are not known');
    });
  };
}

async function attribute(
  { mesh, name }: ProxyEvent,
  refusals: readonly XdsRefusal[],
  { indexes, insights, log }: ProxyRefusalsOptions,
): Promise<void> {
  const index = await indexes.indexOf(mesh);
  const proxy = index.proxy(name);
  const find = proxy === undefined ? null : findsPolicies(index, proxy);
  const found = refusals.map(({ type, name, knownAs = name, reason }) => ({
    ...{ type, name: knownAs, reason },
    policies: find?.(knownAs) ?? [],
  }));
  insights.change({ mesh, name }, (state) =>
    state.troubles === null ? state : { ...state, troubles: withPolicies(state.troubles, found) },
  );
  const proxyOf = { mesh, dataplane: name };
  for (const { type, name: resource, reason, policies } of found.slice(0, MAX_LINES)) {
    const facts = { ...proxyOf, type, resource, reason, policies: policies.slice(0, MAX_LOGGED) };
    log.warn(facts, 'a proxy refuses a part of its configuration; the version before stays in force');
  }
  const more = found.length - MAX_LINES;
  if (more > 0) log.warn({ ...proxyOf, more }, 'a proxy refuses more parts of its configuration');
}

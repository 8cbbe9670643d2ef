// Handles a proxy that stops: its Dataplane gets no new requests while the proxy drains, and is removed when the proxy has ended, without
// the grace time of a lost stream.
import { MeridianError } from '../base/errors.ts';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import { describeKey, type JsonObject, type Resource } from '../resource/types.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';
import { holdOf } from './dataplane-insight.ts';
import { dataplaneKey, insightKey } from './proxy-keys.ts';

/** `run` names the bootstrap of the proxy that leaves. */
type Leaving = { readonly mesh: string; readonly name: string; readonly run: string; readonly state: 'draining' | 'ended' };

/** The number of attempts while others write the same rows. */
const ATTEMPTS = 5;

/**
 * Takes the message of a launcher that its proxy leaves. A Dataplane that no proxy brought stays as it is, and its insight says
 * that the proxy leaves. Nothing happens to one that belongs to another run.
 * @throws MeridianError `unavailable` while others write it
 */
export async function leaveDataplane(store: Pick<ResourceStore, 'getMany' | 'writeAll'>, proxy: Leaving): Promise<void> {
  const { run, state } = proxy;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const rows = await store.getMany([dataplaneKey(proxy), insightKey(proxy)]);
    const dataplane = rows.find(({ type }) => type === 'Dataplane');
    const insight = rows.find(({ type }) => type === 'DataplaneInsight');
    if (dataplane === undefined || insight === undefined) return;
    if (run === '' || textOf(insight.status['run']) !== run) return;
    const stays = holdOf(insight.status) === null;
    if (stays && insight.status['isLeaving'] === true) return;
    const left = [update(insight, { status: { ...insight.status, isLeaving: true } })];
    const writes = stays ? left : state === 'ended' ? removal(dataplane, insight) : farewell(dataplane, insight);
    const outcomes = await store.writeAll(writes);
    if (outcomes.every((outcome) => outcome.result === 'deleted' || outcome.result === 'updated')) return;
  }
  throw new MeridianError('unavailable', `${describeKey(dataplaneKey(proxy))} is being written by others; try again`);
}

/** Makes the inbounds not ready, so that clients no longer use them. An ignored inbound has no endpoint already. */
function withoutReadyInbounds(spec: JsonObject): JsonObject {
  const networking = objectOf(spec['networking']);
  if (networking['inbound'] === undefined) return spec;
  const inbound = objectsOf(networking['inbound']).map((one) =>
    one['state'] === 'Ignored' ? one : { ...one, state: 'NotReady' },
  );
  return { ...spec, networking: { ...networking, inbound } };
}

function update(row: Resource, change: Partial<Pick<Resource, 'spec' | 'status'>>): Write {
  const { type, mesh, name, labels, spec, status, version } = { ...row, ...change };
  return { op: 'update', key: { type, mesh, name }, labels, spec, status, expectVersion: version };
}

function farewell(dataplane: Resource, insight: Resource): Write[] {
  return [
    update(insight, { status: { ...insight.status, hold: 'leaving' } }),
    update(dataplane, { spec: withoutReadyInbounds(dataplane.spec) }),
  ];
}

function removal(dataplane: Resource, insight: Resource): Write[] {
  return [
    { op: 'delete', key: insightKey(insight), expectVersion: insight.version },
    { op: 'delete', key: dataplaneKey(dataplane), expectVersion: dataplane.version },
  ];
}

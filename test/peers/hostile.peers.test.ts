// Values of the wrong JSON type, through the API and directly in the database. A Go peer that cannot decode one resource ends the whole
// stream, so such a resource must not be sent to it.
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { label } from '../../src/resource/labels.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { inZone, MESH, pathOf, readCorpus, type Document } from './corpus.ts';
import { LONG_WAIT, startMixedFleet, type FleetPlan, type Member, type MixedFleet } from './mixed-fleet.ts';
import { randomOf, wrongTypesOf } from './mutants.ts';
import { endedStreamsOf } from './refusals.ts';
import { describeRefusal, request, write } from './rest.ts';
import { identityOf, readTable } from './table.ts';
import { makeMesh } from './written-corpus.ts';

const plans: FleetPlan[] = [
  { global: 'meridian', zones: { 'kuma-1': 'kuma' } },
  { global: 'kuma', zones: { 'meridian-1': 'meridian' } },
];
/** Of each type. */
const THROUGH_API = 40;
const PAST_API = 8;

describe.each(plans)('values of the wrong type beside a $global global', (plan) => {
  let fleet: MixedFleet;
  let ours: Member;
  let theirs: Member;

  beforeAll(async () => {
    fleet = await startMixedFleet(inject('postgresUrl'), plan);
    await makeMesh(fleet);
    ours = fleet.members.find(({ maker }) => maker === 'meridian') as Member;
    theirs = fleet.members.find(({ maker }) => maker === 'kuma') as Member;
  });

  afterAll(() => fleet.stop());

  it('are refused by the API when the peer would refuse them', async () => {
    const taken: string[] = [];
    for (const document of hostile(ours, THROUGH_API, 'put')) {
      const { status } = await request(ours.plane, 'PUT', pathOf(document), document.body);
      if (status === 400) continue;
      // Parts of some specs may be any JSON. A control plane that must not write the type gives another status.
      const asked = theirs.name === 'global' ? onGlobal(document) : inZone(document, theirs.name);
      const peer = await request(theirs.plane, 'PUT', pathOf(asked), asked.body);
      if (peer.status === 400) taken.push(`${document.info.name}: ${describeRefusal(peer.text)}`);
    }
    expect(taken).toEqual([]);
  });

  it('are not sent when they are written past the API, and other resources are sent', async () => {
    await store(ours.plane, hostile(ours, PAST_API, 'stored'));
    for (const sample of leastOf(ours)) {
      const marker = { ...sample, name: 'after', body: { ...sample.body, name: 'after' } };
      await write(ours.plane, pathOf(marker), marker.body);
      await vi.waitFor(async () => {
        const wanted = ` ${marker.name}`;
        const rows = (await readTable(theirs.plane)).filter(({ type }) => type === marker.info.name);
        expect(
          rows.map(identityOf).filter((identity) => identity.endsWith(wanted)),
          marker.info.name,
        ).toHaveLength(1);
      }, LONG_WAIT);
    }
    expect(await endedStreams()).toEqual([]);
  });

  it('are removed from statuses that are written past the API, and the resources are sent', async () => {
    const documents = hostileStatuses(ours);
    await store(ours.plane, documents);
    const wanted = documents.map(({ info, name }) => `${info.name} ${name}`);
    await vi.waitFor(async () => {
      const there = new Set(
        (await readTable(theirs.plane)).map((row) => `${row.type} ${identityOf(row).split(' ').at(-1) ?? ''}`),
      );
      expect(wanted.filter((name) => !there.has(name))).toEqual([]);
    }, LONG_WAIT);
    expect(await endedStreams()).toEqual([]);
  });

  async function endedStreams(): Promise<string[]> {
    return (await Promise.all(fleet.members.map(({ plane }) => endedStreamsOf(plane)))).flat();
  }
});

/** Documents of the types with a JSON spec that the member may write and sends. */
function writable({ name }: Member): Document[] {
  const isGlobal = name === 'global';
  const mine = readCorpus().filter(({ info: { codec, writers, kds } }) => {
    const isSent = isGlobal ? kds.globalToZone : kds.zoneToGlobal;
    return codec.kind === 'json' && isSent && (writers === 'both' || writers === (isGlobal ? 'global' : 'zone'));
  });
  return isGlobal ? mine : mine.map((document) => inZone(document, name));
}

/** One document of each type. */
function leastOf(member: Member): Document[] {
  return [...new Map(writable(member).map((document) => [document.info.name, document])).values()];
}

/** Up to `perType` of each type, under names of their own. */
function hostile(member: Member, perType: number, prefix: string): Document[] {
  const random = randomOf(1);
  return [...Map.groupBy(writable(member), ({ info }) => info.name).values()].flatMap((documents) => {
    const all = documents.flatMap(wrongTypesOf);
    return Array.from({ length: Math.min(perType, all.length) }, (_, index) => {
      const [one] = all.splice(random(all.length), 1) as [Document];
      const name = `${prefix}-${String(index)}`;
      return { info: one.info, name, body: { ...one.body, name } };
    });
  });
}

const NAMES: JsonObject = {
  addresses: [{ hostname: 'a.mesh', origin: 'HostnameGenerator', hostnameGeneratorRef: { coreName: 'a' } }],
  hostnameGenerators: [
    {
      hostnameGeneratorRef: { coreName: 'a' },
      conditions: [{ type: 'Generated', status: 'True', reason: 'Generated', message: '' }],
    },
  ],
};
const CONDITIONS: JsonObject = { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }] };
const PROXIES: JsonObject = { dataplaneProxies: { connected: 1, healthy: 1, total: 1 } };
/** A status of each type with all of its fields. */
const STATUSES: Readonly<Record<string, JsonObject>> = {
  MeshService: { ...NAMES, ...PROXIES, vips: [{ ip: '241.0.0.1' }], tls: { status: 'Ready' } },
  MeshExternalService: { ...NAMES, vip: { ip: '242.0.0.1' } },
  MeshMultiZoneService: {
    ...NAMES,
    ...CONDITIONS,
    vips: [{ ip: '243.0.0.1' }],
    meshServices: [{ name: 'a', namespace: 'b', zone: 'c', mesh: 'd' }],
  },
  MeshIdentity: CONDITIONS,
  MeshTrust: { origin: { kri: 'kri_mid_default___a_' } },
  MeshOpenTelemetryBackend: CONDITIONS,
  MeshAccessLog: CONDITIONS,
  MeshTrace: CONDITIONS,
  MeshMetric: CONDITIONS,
  Workload: PROXIES,
};

/** One resource for each value of a status that can be of a wrong type. */
function hostileStatuses(member: Member): Document[] {
  return leastOf(member).flatMap(({ info, body }) => {
    const status = { info, name: '', body: { spec: STATUSES[info.name] ?? {} } };
    return wrongTypesOf(status).map(({ body: wrong }, index) => {
      const name = `status-${String(index)}`;
      return { info, name, body: { ...body, name, status: wrong.spec ?? {} } };
    });
  });
}

/** Without the labels that a zone must give. */
function onGlobal({ info, name, body }: Document): Document {
  return { info, name, body: { ...body, labels: {} } };
}

/** As psql would write them, or an older version that did not check. */
async function store({ psql }: ControlPlane, documents: readonly Document[]): Promise<void> {
  for (const { info, name, body } of documents)
    await psql.query(
      'insert into resources (type, mesh, name, version, labels, spec, status) values ($1, $2, $3, 0, $4, $5, $6)',
      [
        info.name,
        info.scope === 'Mesh' ? MESH : '',
        name,
        JSON.stringify({ [label.displayName]: name }),
        JSON.stringify(body['spec']),
        JSON.stringify(body['status'] ?? {}),
      ],
    );
}

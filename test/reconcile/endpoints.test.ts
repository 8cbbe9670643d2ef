// The status of a MeshService counts the Dataplanes that are its endpoints in proxies.
import { describe, expect, it } from 'vitest';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { selectedDataplanes } from '../../src/policy/services.ts';
import { planServices } from '../../src/reconcile/services/plan-services.ts';
import { ServicesView } from '../../src/reconcile/services/services-view.ts';
import { numberOf, objectOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject, Labels, Resource } from '../../src/resource/types.ts';
import { makeRow } from '../support/make-row.ts';

const BY_LABELS = { dataplaneLabels: { matchLabels: { app: 'redis' } } };
const labelsOf = (name: string, namespace: string): Labels => ({
  ...{ 'kuma.io/display-name': name, 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', app: 'redis' },
  ...(namespace !== '' && { 'k8s.kuma.io/namespace': namespace }),
});

function dataplane(namespace: string, stored = namespace === '' ? 'r1' : `r1.${namespace}`): Resource {
  const inbound = [{ port: 8080, tags: { app: 'redis' } }];
  const spec = { networking: { address: '10.0.0.1', inbound } };
  return makeRow('Dataplane', stored, { labels: labelsOf('r1', namespace), spec });
}

function service(selector: JsonObject, namespace: string): Resource {
  const spec = { selector, ports: [{ port: 80, targetPort: 8080 }] };
  return makeRow('MeshService', 'redis', { labels: labelsOf('redis', namespace), spec });
}

class Zone {
  readonly #view = new ServicesView('east');
  readonly #rows = new Map<string, Resource>();

  constructor(...rows: Resource[]) {
    this.put(makeRow('Mesh', 'default'), ...rows);
  }

  put(...rows: Resource[]): void {
    for (const row of rows) {
      this.#rows.set(`${row.type} ${row.name}`, row);
      this.#view.put(row);
    }
  }

  /** How many Dataplanes proxies send to, as the status says it and as they do. */
  counts(): { readonly state: string; readonly total: number; readonly endpoints: number } {
    for (const write of planServices(this.#view, { now: new Date(0), elapsed: 0, graceMs: null }).writes)
      if (write.op === 'put') {
        this.#view.accept(write.row);
        this.#rows.set(`${write.row.type} ${write.row.name}`, write.row);
      }
    const row = this.#rows.get('MeshService redis') ?? service({}, '');
    return {
      state: textOf(row.spec['state']),
      total: numberOf(objectOf(row.status['dataplaneProxies'])['total']),
      endpoints: selectedDataplanes(new MeshIndex('default', this.#rows.values()), row).length,
    };
  }
}

const ONE = { state: 'Available', total: 1, endpoints: 1 };
const NONE = { state: 'Unavailable', total: 0, endpoints: 0 };

describe('the status of a MeshService in a namespace counts its endpoints', () => {
  it.each<[what: string, selector: JsonObject, of: string, expected: object]>([
    ['by labels, in this namespace', BY_LABELS, 'shop', ONE],
    ['by labels, in another namespace', BY_LABELS, 'other', NONE],
    ['by labels, without a namespace', BY_LABELS, '', NONE],
    ['by tags, without a namespace', { dataplaneTags: { app: 'redis' } }, '', NONE],
    ['by display name, in this namespace', { dataplaneRef: { name: 'r1' } }, 'shop', ONE],
    ['by stored name, in this namespace', { dataplaneRef: { name: 'r1.shop' } }, 'shop', ONE],
    ['by display name, without a namespace', { dataplaneRef: { name: 'r1' } }, '', NONE],
  ])('%s', (_, selector, of, expected) => {
    expect(new Zone(service(selector, 'shop'), dataplane(of)).counts()).toEqual(expected);
  });

  it('also after the namespace of the Dataplane or of the service has changed', () => {
    const zone = new Zone(service(BY_LABELS, 'shop'), dataplane('shop', 'r1'));
    expect(zone.counts()).toEqual(ONE);
    zone.put(dataplane('other', 'r1'));
    expect(zone.counts()).toEqual(NONE);
    zone.put(service(BY_LABELS, 'other'));
    expect(zone.counts()).toEqual(ONE);
    zone.put(dataplane('', 'r1'));
    expect(zone.counts()).toEqual(NONE);
    zone.put(service(BY_LABELS, ''));
    expect(zone.counts()).toEqual(ONE);
  });
});

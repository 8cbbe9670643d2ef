import { describe, expect, it } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import { runSteps } from '../../base/steps.ts';
import { hashName } from '../../resource/hash-name.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { nameText, type Resource } from '../../resource/types.ts';
import { CountedProxies, type CountedProxiesOptions } from './counted-proxies.ts';
import type { Work } from '../receiver/diff-response.ts';
import type { Incoming } from '../receiver/incoming.ts';
import { globalReceiveRules } from '../protocol/rules.ts';

const insight = typeOf('DataplaneInsight');
const dataplane = typeOf('Dataplane');
const connected = { subscriptions: [{ connectTime: '2026-01-01T00:00:00Z' }] };
const hashed = (name: string): string => hashName({ mesh: 'shop', name, zone: 'east' });

/** @param stored Dataplanes of a zone that sends only what has changed */
function proxiesOf({ most = 10, stored }: { most?: number; stored?: Resource[] } = {}): CountedProxies {
  const rules = globalReceiveRules('east', { hashedNames: true });
  const rows: CountedProxiesOptions['rows'] = {
    keep: async (_, { incoming }, refusals) => ({ written: incoming.size, refusals: [...refusals] }),
    inScope: async () => [],
    named: async () => stored ?? [],
  };
  const pace: CountedProxiesOptions['pace'] = { run: async (steps) => runSteps(steps) };
  return new CountedProxies({ rules, rows, pace, most, resumes: stored !== undefined });
}

function workOf(...rows: Pick<Resource, 'name' | 'labels' | 'spec'>[]): Work {
  const incoming = rows.map((row): [string, Incoming] => [
    nameText({ mesh: 'shop', name: row.name }),
    { mesh: 'shop', status: undefined, version: 'v', bytes: 10, ...row },
  ]);
  return { incoming: new Map(incoming), removed: new Map(), prune: null };
}

const of = (name: string, spec = {}): Pick<Resource, 'name' | 'labels' | 'spec'> => {
  const labels = { 'kuma.io/display-name': name, 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' };
  return { name: hashed(name), labels, spec };
};
const totalOf = (proxies: CountedProxies): number => (proxies.takeChanged() ?? []).reduce((sum, one) => sum + one.proxies, 0);

describe('counted proxies', () => {
  it('begin with the stored Dataplanes of a zone that sends only what has changed', async () => {
    const rows = ['a', 'b'].map((name) => makeRow('Dataplane', hashed(name), { mesh: 'shop' }));
    const proxies = proxiesOf({ stored: rows });
    await proxies.keep(insight, workOf(of('a', connected)), []);
    expect(proxies.takeChanged()).toMatchObject([
      { status: 'offline', proxies: 1 },
      { status: 'online', proxies: 1 },
    ]);
  });

  it('refuse an insight with a name that no row may have', async () => {
    const { refusals } = await proxiesOf().keep(insight, workOf({ ...of('a'), name: 'other' }), []);
    expect(refusals).toMatchObject([{ name: 'other', reason: expect.stringContaining('must be') as unknown }]);
  });

  it('take an insight that lost its labels for one update, as a stored row keeps its name', async () => {
    const proxies = proxiesOf({ stored: [makeRow('Dataplane', hashed('a'), { mesh: 'shop' })] });
    await proxies.keep(insight, workOf(of('a', connected)), []);
    proxies.takeChanged();
    const offline = { subscriptions: [{ ...connected.subscriptions[0], disconnectTime: '2026-01-01T00:00:01Z' }] };
    const { refusals } = await proxies.keep(insight, workOf({ ...of('a', offline), labels: {} }), []);
    expect(refusals).toEqual([]);
    expect(proxies.takeChanged()).toMatchObject([{ status: 'offline', proxies: 1 }]);
  });

  it('refuse new proxies over the quota, and take those that they know', async () => {
    const proxies = proxiesOf({ most: 2 });
    expect((await proxies.keep(insight, workOf(of('a'), of('b')), [])).refusals).toEqual([]);
    const { refusals } = await proxies.keep(insight, workOf(of('a', connected), of('c')), []);
    expect(refusals).toMatchObject([
      { name: hashed('c'), reason: expect.stringContaining('multizone.global.kds.quotas.rows') as unknown },
    ]);
  });

  it('leave a refused Dataplane as it was', async () => {
    const proxies = proxiesOf();
    await proxies.keep(dataplane, workOf(of('a'), of('b')), []);
    expect(totalOf(proxies)).toBe(2);
    const key = { mesh: 'shop', name: hashed('a') };
    const removal = { ...workOf(), removed: new Map([[nameText(key), { type: 'Dataplane', ...key }]]) };
    await proxies.keep(dataplane, removal, [{ ...key, type: 'Dataplane', reason: 'kept' }]);
    expect(proxies.takeChanged()).toBeNull();
    await proxies.keep(dataplane, removal, []);
    expect(totalOf(proxies)).toBe(1);
  });

  it('are counted in steps of 64, removals too', async () => {
    const steps: number[] = [];
    const rules = globalReceiveRules('east', { hashedNames: true });
    const proxies = new CountedProxies({
      ...{ rules, most: 1_000, resumes: false },
      rows: {
        keep: async (_, { incoming }, refusals) => ({ written: incoming.size, refusals: [...refusals] }),
        inScope: async () => [],
        named: async () => [],
      },
      pace: {
        run: async (work) => {
          for (let step = 0; ; step += 1) {
            const { done, value } = work.next();
            if (done !== true) continue;
            steps.push(step);
            return value;
          }
        },
      },
    });
    const rows = (count: number): Work => workOf(...Array.from({ length: count }, (_, index) => of(`p-${String(index)}`)));
    const removal = ({ incoming }: Work): Work => ({
      ...workOf(),
      removed: new Map([...incoming].map(([text, { mesh, name }]) => [text, { type: 'Dataplane', mesh, name }])),
    });
    for (const work of [rows(1), rows(64), rows(65), removal(rows(1)), removal(rows(65)), workOf()])
      await proxies.keep(dataplane, work, []);
    expect(steps).toEqual([1, 1, 2, 1, 2, 0]);
  });

  it('cost a twentieth of a stored row each', async () => {
    const many = Array.from({ length: 41 }, (_, index) => of(`p-${String(index)}`));
    expect((await proxiesOf({ most: 100 }).keep(insight, workOf(...many), [])).written).toBe(3);
  });
});

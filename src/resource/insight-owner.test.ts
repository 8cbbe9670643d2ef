// The insight of a Dataplane on global, as each kind of zone names both.
import { describe, expect, it } from 'vitest';
import { makeRow } from '../../test/support/make-row.ts';
import { hashName } from './hash-name.ts';
import { insightKeysOf, joinInsights } from './insight-owner.ts';
import { nameText, type Labels, type Resource } from './types.ts';

const NAMESPACE = 'k8s.kuma.io/namespace';
const row = (type: string, name: string, labels: Labels): Resource => makeRow(type, name, { mesh: 'shop', labels });
const hash = (name: string, namespace = ''): string => hashName({ mesh: 'shop', name, zone: 'east', namespace });

/** A Dataplane as global stores it. */
function dataplane(name: string, namespace = ''): Resource {
  const labels = { 'kuma.io/display-name': name, 'kuma.io/zone': 'east', ...(namespace !== '' && { [NAMESPACE]: namespace }) };
  return row('Dataplane', hash(name, namespace), labels);
}
const insight = (name: string, namespace = ''): Resource => row('DataplaneInsight', hash(name, namespace), {});

const joinedOf = (dataplanes: Resource[], insights: Resource[], others: Resource[] = []): (string | undefined)[] => {
  const joined = joinInsights(dataplanes, insights, others);
  return dataplanes.map((one) => joined.get(nameText(one))?.name);
};

describe('the insight of a Dataplane', () => {
  it.each([
    ['of a zone that gives it the namespace', insight('web', 'a')],
    ['of a zone that names it with the namespace', insight('web.a')],
    ['of a Universal zone of Kuma', insight('web')],
  ])('is found for one with a namespace: %s', (_, found) => {
    const web = dataplane('web', 'a');
    expect(joinedOf([web], [found])).toEqual([found.name]);
    expect(insightKeysOf([web])).toContainEqual({ type: 'DataplaneInsight', mesh: 'shop', name: found.name });
  });

  it('is that under its own name first', () => {
    expect(joinedOf([dataplane('web', 'a')], [insight('web'), insight('web.a'), insight('web', 'a')])).toEqual([
      hash('web', 'a'),
    ]);
  });

  it('is never that of another Dataplane', () => {
    const [plain, spaced] = [dataplane('web'), dataplane('web', 'a')];
    expect(joinedOf([plain, spaced], [insight('web')])).toEqual([hash('web'), undefined]);
    expect(joinedOf([spaced], [insight('web')], [plain])).toEqual([undefined]);
    expect(insightKeysOf([spaced])).toContainEqual({ type: 'Dataplane', mesh: 'shop', name: plain.name });
  });

  it('of one without a namespace has its name', () => {
    const web = dataplane('web');
    expect(insightKeysOf([web])).toEqual([{ type: 'DataplaneInsight', mesh: 'shop', name: web.name }]);
    expect(joinedOf([web], [insight('web', 'a'), insight('web.a')])).toEqual([undefined]);
  });
});

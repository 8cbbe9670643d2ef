import { describe, expect, it } from 'vitest';
import type { Answer } from '../../answers/answers.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { Item } from '../client/api-client.ts';
import { describeText } from './describe-text.ts';

const service: Item = {
  type: 'MeshService',
  mesh: 'shop',
  name: 'cart-2c4zd4d4x7f9vwd6',
  creationTime: '2026-01-01T00:00:00Z',
  labels: { 'kuma.io/display-name': 'cart', 'k8s.kuma.io/namespace': 'carts', 'kuma.io/zone': 'east', team: 'a\nName: forged' },
  spec: { ports: [{ port: 80 }] },
  status: { tls: { status: 'Ready' } },
};

function textOf(item: Item, history: Answer<'History'> | null = null): string {
  return describeText({ info: typeOf(item.type), item, rollout: null, history }, () => '5m');
}

describe('describe', () => {
  it('has the names, the place and the times first, then the content and the status', () => {
    const text = textOf(service);
    expect(text).toMatch(
      /^Name: +cart\nStored name: +cart-2c4zd4d4x7f9vwd6\nType: +MeshService\nMesh: +shop\nNamespace: +carts\n/,
    );
    expect(text).toMatch(/^Created: +2026-01-01T00:00:00Z \(5m\)$/m);
    expect(text).toContain('\nSpec:\n  ports:\n    - port: 80\n\nStatus:\n  tls:\n    status: Ready\n');
    expect(text).toContain('\n  meridian inspect service cart-2c4zd4d4x7f9vwd6 --mesh shop\n');
    expect(text).not.toMatch(/^(Zones|History):|^Name: forged/m);
  });

  it('shows the fields of a type without a spec', () => {
    expect(textOf({ type: 'Zone', name: 'east', enabled: true })).toContain('\nFields:\n  enabled: true\n');
  });

  it('shows the last five versions, and where those of a copy are', () => {
    const versionOf = (version: number): Answer<'History'>['items'][number] => ({
      ...{ version, etag: '"1"', time: '2026-01-01T00:00:00Z', via: 'api', action: 'updated' },
    });
    const history = { items: [6, 5, 4, 3, 2, 1, 0].map(versionOf), next: null, exists: true };
    const text = textOf(service, history);
    expect(text).toMatch(/\n {2}2 +5m .*\n {2}2 more: meridian history\n/);
    const copy = { items: [], next: null, exists: true, home: 'zone east' };
    expect(textOf(service, copy as unknown as Answer<'History'>)).toContain('a copy of a resource of zone east');
  });
});

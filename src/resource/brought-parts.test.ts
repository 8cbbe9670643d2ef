import { describe, expect, it } from 'vitest';
import { broughtStatus, isLabelOfProxy, rolesOfProxy } from './brought-parts.ts';
import type { JsonObject, Labels } from './types.ts';

type Row = { labels: Labels; spec: JsonObject; status: JsonObject };
const EGRESS = { networking: { listeners: [{ type: 'ZoneEgress', port: 1 }] } };
const INGRESS = { networking: { zoneIngress: { port: 1 } } };

function row(labels: Labels, spec: JsonObject = {}, status: JsonObject = {}): Row {
  return { labels, spec, status };
}
const brings = (labels: Labels, spec: JsonObject, stored: Row | null): Row =>
  row(labels, spec, broughtStatus({ labels, spec }, stored));

describe('what a proxy chose of its Dataplane', () => {
  it('is all that it brings where there was none', () => {
    const brought = brings({ team: 'a', 'kuma.io/zone': 'east' }, EGRESS, null);
    expect([isLabelOfProxy(brought, 'team'), isLabelOfProxy(brought, 'other'), rolesOfProxy(brought)]).toEqual([
      true,
      false,
      ['egress'],
    ]);
    expect(isLabelOfProxy(brought, 'kuma.io/zone')).toBe(false);
  });

  it('is not what an administrator wrote before', () => {
    const written = row({ team: 'a' }, EGRESS);
    expect(brings({ team: 'a' }, EGRESS, written).status).toEqual({});
    const more = brings({ team: 'b', role: 'x' }, { networking: { ...EGRESS.networking, ...INGRESS.networking } }, written);
    expect([isLabelOfProxy(more, 'team'), isLabelOfProxy(more, 'role'), rolesOfProxy(more)]).toEqual([true, true, ['ingress']]);
  });

  it('stays its choice when it brings the same again, and is no more when an administrator changes it', () => {
    const first = brings({ team: 'a' }, EGRESS, null);
    expect(brings({ team: 'a' }, EGRESS, first)).toEqual(first);
    const put = row({ team: 'b' }, INGRESS, first.status);
    expect([isLabelOfProxy(put, 'team'), rolesOfProxy(put)]).toEqual([false, []]);
  });

  it('keeps the rest of the status', () => {
    const stored = row({}, {}, { other: 1, brought: { labels: { a: 'b' }, roles: [] } });
    expect(broughtStatus({ labels: {}, spec: {} }, stored)).toEqual({ other: 1 });
  });
});

// The check before a takeover, on rows that real control planes of Kuma 2.14 and 3 had.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lossesOf, unaccepted, type Loss } from '../../src/takeover/losses.ts';
import { readDump } from '../../src/takeover/read-dump.ts';
import { releaseOf, type TakenRow } from '../../src/takeover/taken-row.ts';
import { readOldRows } from './old-rows.ts';

const kubernetes = readDump('kubernetes-2.14.yaml', readFileSync(join(import.meta.dirname, 'kubernetes-2.14.yaml'), 'utf8'));

function told(losses: readonly Loss[]): string[] {
  return losses.map(({ type, mesh, name, field }) => [type, mesh, name, field].filter((part) => part !== '').join(' '));
}

describe('the losses of a Kubernetes global of Kuma 2.14', () => {
  const losses = lossesOf(kubernetes, releaseOf(kubernetes));

  it('are named by resource and field', () => {
    expect(releaseOf(kubernetes)).toBe(2);
    expect(told(losses)).toEqual([
      'ExternalService default old-es',
      'Mesh m3 meshServices',
      'Mesh m3 mtls',
      'Mesh m3 routing',
      'MeshExternalService default mes-old-tls spec.tls.verification.caCert',
      'MeshGateway default old-gw',
      'MeshTimeout default from spec.from',
      'MeshTimeout default mesh-gateways-timeout-all-default spec.from',
      'MeshTimeout default mesh-gateways-timeout-all-default spec.targetRef.proxyTypes',
      'MeshTimeout default mesh-timeout-all-default spec.from',
      'MeshTimeout default mesh-timeout-all-default spec.targetRef.proxyTypes',
      'MeshTimeout default to-by-name spec.targetRef.proxyTypes',
      'MeshTimeout m3 mesh-gateways-timeout-all-m3 spec.from',
      'MeshTimeout m3 mesh-gateways-timeout-all-m3 spec.targetRef.proxyTypes',
      'MeshTimeout m3 mesh-timeout-all-m3 spec.from',
      'MeshTimeout m3 mesh-timeout-all-m3 spec.targetRef.proxyTypes',
      'TrafficPermission default old-tp',
    ]);
  });

  it('each have a reason and a remedy', () => {
    for (const loss of losses)
      expect(
        [loss.reason, loss.remedy].every((text) => text.length > 10),
        loss.kind,
      ).toBe(true);
    expect(losses.find(({ kind }) => kind === 'Mesh.mtls')?.remedy).toBe('write a MeshIdentity, and a MeshTLS for the mode');
  });

  it('are accepted by kind or by type, and by no other name', () => {
    expect(unaccepted(losses, ['MeshTimeout', 'Mesh.mtls', 'Mesh.routing']).map(({ kind }) => kind)).toEqual([
      'ExternalService',
      'Mesh.meshServices',
      'MeshExternalService.tls.verification.caCert',
      'MeshGateway',
      'TrafficPermission',
    ]);
    expect(unaccepted(losses, ['*', '', 'mtls'])).toEqual(losses);
  });
});

describe('the losses of a database that was once of Kuma 2.x', () => {
  const rows = readOldRows('once-2.x.yaml');

  it('are none under a Kuma 3, which has read over the same keys', () => {
    expect(lossesOf(rows, 3)).toEqual([]);
  });

  it('under a 2.x name each resource that Kuma 3 zones refuse, and each key that they read over', () => {
    const kinds = new Map(lossesOf(rows, 2).map(({ kind, reason }) => [kind, reason.startsWith('zones do not get')]));
    expect(Object.fromEntries(kinds)).toEqual({
      'Mesh.meshServices': false,
      'Mesh.mtls': false,
      'Mesh.networking': false,
      'Mesh.routing': false,
      'MeshAccessLog.to.*.default.backends.*.openTelemetry.endpoint': true,
      'MeshCircuitBreaker.targetRef.proxyTypes': false,
      'MeshExternalService.tls.verification.caCert': false,
      'MeshFaultInjection.from': false,
      'MeshFaultInjection.targetRef.proxyTypes': false,
      'MeshHealthCheck.to.*.default.healthyPanicThreshold': false,
      'MeshRateLimit.from': true,
      'MeshRateLimit.targetRef.proxyTypes': false,
      'MeshTLS.from': false,
      'MeshTLS.targetRef.proxyTypes': false,
      'MeshTimeout.from': false,
      'MeshTimeout.targetRef.kind': true,
      'MeshTimeout.targetRef.proxyTypes': false,
      'MeshTrafficPermission.from': true,
      TrafficPermission: false,
    });
  });
});

describe('rows without a loss', () => {
  const row = (type: string, spec: TakenRow['spec'], labels: TakenRow['labels'] = {}): TakenRow => ({
    ...{ type, mesh: 'shop', name: 'one' },
    labels,
    spec,
  });

  it.each([
    ['what a zone wrote, which it sends again', row('MeshTimeout', { from: [{}] }, { 'kuma.io/origin': 'zone' })],
    ['what stays in its zone', row('Dataplane', { networking: { inbound: [{ port: 80, tags: { a: 'b' } }] }, metrics: {} })],
    ['what control planes compute', row('MeshGatewayInsight', {})],
    ['what Kuma 3 reads', row('MeshTimeout', { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'Mesh' } }] })],
    ['what is translated', row('MeshTimeout', { to: [{ targetRef: { kind: 'MeshService', name: 'a' } }] })],
  ])('%s', (_, given) => {
    expect(lossesOf([given], 2)).toEqual([]);
  });

  it('a type that neither release has is one that Meridian does not know, under both', () => {
    for (const release of [2, 3] as const)
      expect(told(lossesOf([row('MeshNovelty', {})], release))).toEqual(['MeshNovelty shop one']);
  });
});

describe('the release of a Kuma global', () => {
  const insight = (version: string, gitCommit: string): TakenRow => ({
    ...{ type: 'ZoneInsight', mesh: '', name: 'east', labels: {} },
    spec: { subscriptions: [{ version: { kumaCp: { version, gitCommit } } }] },
  });

  it.each([
    ['3.0.1', 'abc', 3],
    ['2.14.3', 'abc', 2],
    ['unknown', 'abc', 2],
    ['3.0.1', '', 2],
  ])('with a zone of version %s and commit %j is %i', (version, commit, expected) => {
    expect(releaseOf([insight(version, commit)])).toBe(expected);
  });

  it('counts every subscription, also of a zone that went back', () => {
    const { spec, ...row } = insight('2.14.3', 'a');
    const newer = insight('3.0.0', 'a').spec['subscriptions'] as object[];
    expect(releaseOf([{ ...row, spec: { subscriptions: [...(spec['subscriptions'] as []), ...(newer as [])] } }])).toBe(3);
  });
});

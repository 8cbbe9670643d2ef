// The MeshTimeouts that every section works with: a realistic spec of about 500 bytes, the same on the global and on the floor.
import type { JsonObject, Labels, Resource } from '../src/resource/types.ts';

export const MESH = 'default';
export const TYPE = 'MeshTimeout';

export function policyName(index: number): string {
  return `timeouts-of-service-${String(index).padStart(6, '0')}`;
}

/** @param revision makes a difference, so that a change is one */
export function policySpec(index: number, revision = 0): JsonObject {
  const service = `service-${String(index % 997)}`;
  const http = {
    requestTimeout: `${String(15_000 + revision)}ms`,
    streamIdleTimeout: '30m',
    maxStreamDuration: '0s',
    maxConnectionDuration: '0s',
  };
  return {
    targetRef: { kind: 'Dataplane', labels: { app: service, team: `team-${String(index % 31)}` } },
    to: [
      {
        targetRef: {
          kind: 'MeshService',
          labels: { 'kuma.io/display-name': service, 'k8s.kuma.io/namespace': 'shop' },
          sectionName: 'http',
        },
        default: { connectionTimeout: '5s', idleTimeout: '1h', http },
      },
      { targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '10s', idleTimeout: '2h', http } },
    ],
  };
}

export function policyLabels(index: number): Labels {
  return { 'kuma.io/display-name': policyName(index), 'kuma.io/mesh': MESH, 'kuma.io/origin': 'global' };
}

export function policyPath(index: number): string {
  return `/meshes/${MESH}/meshtimeouts/${policyName(index)}`;
}

export function policyBody(index: number, revision: number): string {
  return JSON.stringify({ type: TYPE, mesh: MESH, name: policyName(index), spec: policySpec(index, revision) });
}

/** As the store holds it. */
export function policy(index: number, revision = 0): Resource {
  return {
    ...{ type: TYPE, mesh: MESH, name: policyName(index), labels: policyLabels(index), spec: policySpec(index, revision) },
    ...{ status: {}, version: 0, owner: null, syncVersion: null },
    ...{ creationTime: new Date(), modificationTime: new Date() },
  };
}

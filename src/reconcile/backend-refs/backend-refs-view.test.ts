import { expect, it } from 'vitest';
import { readBackendRefs } from './backend-refs-view.ts';

it('the view reads the references of a policy to collectors, and no references of other kinds', () => {
  const backend = (backendRef: object): object => ({ backends: [{ type: 'OpenTelemetry', openTelemetry: { backendRef } }] });
  const spec = {
    default: backend({ kind: 'MeshOpenTelemetryBackend', name: 'otel' }),
    to: [{ default: backend({ kind: 'MeshService', name: 'collector' }) }],
    rules: [{ default: backend({ kind: 'MeshOpenTelemetryBackend', labels: { team: 'b', env: 'a' } }) }],
  };
  expect(readBackendRefs(JSON.parse(JSON.stringify(spec)) as typeof spec & Record<string, never>)).toEqual([
    { labels: { 'kuma.io/display-name': 'otel' }, text: 'name:otel' },
    { labels: { team: 'b', env: 'a' }, text: 'labels:env=a,team=b' },
  ]);
});

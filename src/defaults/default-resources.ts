// The default resources of a deployment, as tables (kds-wire 9). Data; src/defaults/create-defaults.ts writes them.
import { label } from '../resource/labels.ts';
import type { JsonObject, Labels } from '../resource/types.ts';

export const DEFAULT_MESH = 'default';
/** The Config with the id of the whole deployment: created on global, synced to zones. */
export const CLUSTER_ID_CONFIG = 'kuma-cluster-id';
/** Name prefix of the GlobalSecrets that sign zone tokens. The serial follows, and the highest signs (kds-wire 8). */
export const ZONE_TOKEN_KEY_PREFIX = 'zone-token-signing-key-';

/** Name prefix of a mesh's Secrets that sign dataplane tokens. The serial follows. */
export function dataplaneTokenKeyPrefix(mesh: string): string {
  return `dataplane-token-signing-key-${mesh}-`;
}

export type HostnameGeneratorDefault = { readonly name: string; readonly spec: JsonObject };

/** They are created on global, and stored without labels. */
export const globalHostnameGenerators: readonly HostnameGeneratorDefault[] = [
  generator(
    'synced-mesh-multi-zone-service',
    'meshMultiZoneService',
    { [label.origin]: 'global' },
    '{{ .DisplayName }}.mzsvc.mesh.local',
  ),
  generator(
    'synced-kube-mesh-service',
    'meshService',
    { [label.origin]: 'global', 'k8s.kuma.io/is-headless-service': 'false', [label.env]: 'kubernetes' },
    '{{ .DisplayName }}.{{ .Namespace }}.svc.{{ .Zone }}.mesh.local',
  ),
  generator(
    'synced-headless-kube-mesh-service',
    'meshService',
    { [label.origin]: 'global', 'k8s.kuma.io/is-headless-service': 'true', [label.env]: 'kubernetes' },
    '{{ label "statefulset.kubernetes.io/pod-name" }}.{{ label "k8s.kuma.io/service-name" }}.{{ .Namespace }}.svc.{{ .Zone }}.mesh.local',
  ),
  generator(
    'synced-universal-mesh-service',
    'meshService',
    { [label.origin]: 'global', [label.env]: 'universal' },
    '{{ .DisplayName }}.svc.{{ .Zone }}.mesh.local',
  ),
  generator(
    'synced-mesh-external-service',
    'meshExternalService',
    { [label.origin]: 'global' },
    '{{ .DisplayName }}.extsvc.mesh.local',
  ),
];

/** They are created in every zone, and stored with label origin = zone. */
export const zoneHostnameGenerators: readonly HostnameGeneratorDefault[] = [
  generator(
    'local-mesh-external-service',
    'meshExternalService',
    { [label.origin]: 'zone' },
    '{{ .DisplayName }}.extsvc.mesh.local',
  ),
  generator('local-universal-mesh-service', 'meshService', { [label.origin]: 'zone' }, '{{ .DisplayName }}.svc.mesh.local'),
];

type MeshPolicyDefault = { readonly name: string; readonly type: string; readonly spec: JsonObject };

const TO_ALL = { targetRef: { kind: 'Mesh' } };
const RETRY = { numRetries: 5, perTryTimeout: '16s', backOff: { baseInterval: '25ms', maxInterval: '250ms' } };
/** A server that was killed keeps its address for seconds (decision 67). Its requests go to others, as many as there are. */
const OTHER_SERVER = { hostSelection: [{ predicate: 'OmitPreviousHosts', updateFrequency: 2 }], hostSelectionMaxAttempts: 5 };
const MAX_RETRIES = 1024;

const MESH_POLICIES: readonly MeshPolicyDefault[] = [
  {
    name: 'mesh-timeout-all',
    type: 'MeshTimeout',
    spec: {
      targetRef: { kind: 'Mesh' },
      rules: [
        {
          default: {
            connectionTimeout: '10s',
            idleTimeout: '2h0m0s',
            http: { requestTimeout: '0s', streamIdleTimeout: '1h0m0s', maxStreamDuration: '0s' },
          },
        },
      ],
    },
  },
  {
    name: 'mesh-timeout-to-all',
    type: 'MeshTimeout',
    spec: {
      targetRef: { kind: 'Mesh' },
      to: [
        {
          ...TO_ALL,
          default: {
            connectionTimeout: '5s',
            idleTimeout: '1h0m0s',
            http: { requestTimeout: '15s', streamIdleTimeout: '30m0s' },
          },
        },
      ],
    },
  },
  {
    name: 'mesh-circuit-breaker-all',
    type: 'MeshCircuitBreaker',
    spec: {
      targetRef: { kind: 'Mesh' },
      to: [
        {
          ...TO_ALL,
          default: {
            connectionLimits: { maxConnections: 1024, maxPendingRequests: 1024, maxRetries: MAX_RETRIES, maxRequests: 1024 },
          },
        },
      ],
    },
  },
  {
    name: 'mesh-retry-all',
    type: 'MeshRetry',
    spec: {
      targetRef: { kind: 'Mesh' },
      to: [{ ...TO_ALL, default: { tcp: { maxConnectAttempt: 5 }, http: { ...RETRY, ...OTHER_SERVER }, grpc: RETRY } }],
    },
  },
];

/**
 * The policies that a new Mesh gets, unless its `skipCreatingInitialPolicies` names the type or `*`.
 * @param spec the spec of the Mesh
 */
export function initialPolicies(mesh: string, spec: JsonObject): MeshPolicyDefault[] {
  const skipped = spec['skipCreatingInitialPolicies'];
  const isSkipped = (type: string): boolean => Array.isArray(skipped) && (skipped.includes('*') || skipped.includes(type));
  return MESH_POLICIES.filter((policy) => !isSkipped(policy.type)).map((policy) => ({
    ...policy,
    name: `${policy.name}-${mesh}`,
  }));
}

function generator(name: string, kind: string, matchLabels: Labels, template: string): HostnameGeneratorDefault {
  return { name, spec: { selector: { [kind]: { matchLabels: { ...matchLabels } } }, template } };
}

// The rows of a new Mesh `default`, itself included (kds-wire 9): `type/mesh/name` of each row, sorted.
export const defaultMeshRows = [
  'Mesh//default',
  'MeshCircuitBreaker/default/mesh-circuit-breaker-all-default',
  'MeshRetry/default/mesh-retry-all-default',
  'MeshTimeout/default/mesh-timeout-all-default',
  'MeshTimeout/default/mesh-timeout-to-all-default',
  'Secret/default/dataplane-token-signing-key-default-1',
];

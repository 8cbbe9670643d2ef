// Capabilities by name, never by version (kds-wire 5.6, D26, D32).

export const feature = {
  /** Hashed names. Every Kuma 2.x and 3.x with the types of Meridian has this feature. */
  hashSuffix: 'hash-suffix',
  zonePingHealth: 'zone-ping-health',
  zoneToken: 'zone-token',
  hostnameGeneratorMultiZone: 'hg-mz-selector',
  producerPolicyFlow: 'producer-policy-flow',
  optionalTopLevelTargetRef: 'optional-top-level-target-ref',
  /** The peer is Meridian: it resumes by versions and takes a first state in several messages. */
  meridian: 'meridian-v1',
  /** The zone keeps a Mesh that is withdrawn from it as long as it has resources of its own there (decision 70). */
  membership: 'meridian-membership',
  /** The peer reads several messages as one (decision 83). */
  bundles: 'meridian-bundles',
  /** The peer reads which types it is in step with, and takes the metadata of the first request for all of a stream (decision 83). */
  inStep: 'meridian-in-step',
  /** The zone opens one admin stream for all kinds of requests, and global says the kind with each (decision 83). */
  oneAdminStream: 'meridian-one-admin-stream',
} as const;

/** Header `features` of a zone; each value is a header line of its own (kds-wire 2.1). */
export const zoneHeaderFeatures: readonly string[] = [
  feature.zonePingHealth,
  feature.hashSuffix,
  feature.meridian,
  feature.bundles,
  feature.inStep,
  feature.oneAdminStream,
];

/** Header `features` of global. */
export const globalHeaderFeatures: readonly string[] = [
  feature.meridian,
  feature.bundles,
  feature.inStep,
  feature.oneAdminStream,
];

/** Node metadata `features`, the same from both sides (kds-wire 2.2). */
export const nodeFeatures: readonly string[] = [
  feature.zoneToken,
  feature.hashSuffix,
  feature.hostnameGeneratorMultiZone,
  feature.producerPolicyFlow,
  feature.optionalTopLevelTargetRef,
  feature.meridian,
  feature.membership,
];

// What a launcher says of its Envoy in the dynamic metadata of a node.

/** Key of the dynamic metadata that says how long the Envoy keeps connections of a listener that was replaced or removed. */
export const DRAIN_SECONDS = 'meridian.drainSeconds';

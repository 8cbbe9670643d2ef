// The dynamic metadata of a node, in which a launcher describes its Envoy.

/**
 * The key of the dynamic metadata with the seconds for which the Envoy keeps connections of a listener that was replaced or
 * removed.
 */
export const DRAIN_SECONDS = 'meridian.drainSeconds';

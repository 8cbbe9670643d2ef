// Parts of Envoy's configuration for connections that a machine redirects to its proxy (xds 3.5).
import { isIP } from 'node:net';
import type { JsonObject } from '../resource/types.ts';

/**
 * The source address of a cluster of an own application: connections from there are not redirected again.
 * @param address of the application
 */
export function fromOwnSource(address: string): JsonObject {
  return { upstreamBindConfig: { sourceAddress: { address: isIP(address) === 6 ? '::6' : '127.0.0.6', portValue: 0 } } };
}

/** Whether a listener has its connections from another one alone: nothing can listen at an address of another machine. */
export function isVirtual(address: string): boolean {
  return !address.startsWith('127.') && address !== '::1';
}

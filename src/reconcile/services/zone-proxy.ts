// Which zone proxy of a mesh carries the traffic: of several the ready one with the smallest name (D20).
import { compareText } from '../../base/compare-text.ts';
import type { Address } from './dataplane-facts.ts';

export type ZoneProxy = {
  /** Stored name of the Dataplane. */
  readonly name: string;
  readonly address: Address;
  /** Of its DataplaneInsight; undefined without one, which counts as ready (D20). */
  readonly isOnline: boolean | undefined;
};

/** Where traffic goes, or null if no zone proxy is ready. */
export function chooseZoneProxy(proxies: readonly ZoneProxy[]): Address | null {
  const [first] = proxies.filter(({ isOnline }) => isOnline !== false).sort((a, b) => compareText(a.name, b.name));
  return first?.address ?? null;
}

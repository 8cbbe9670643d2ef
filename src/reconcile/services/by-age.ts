// The order in which services, generators and Dataplanes have precedence: the oldest first, then by name (policies 9.4, 9.5).
import { compareText } from '../../base/compare-text.ts';

/** `created` is in milliseconds since 1970. */
export type Aged = { readonly created: number; readonly name: string };

export function byAge(a: Aged, b: Aged): number {
  return a.created - b.created || compareText(a.name, b.name);
}

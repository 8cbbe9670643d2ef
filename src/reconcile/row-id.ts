// The key of a row as one text for maps; never taken apart again.
import type { ResourceKey } from '../resource/types.ts';

export function rowId({ type, mesh, name }: ResourceKey): string {
  return JSON.stringify([type, mesh, name]);
}

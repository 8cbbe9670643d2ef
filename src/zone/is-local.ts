// Ours or theirs (engine 13, policies 9.3): what a zone wrote itself has its own origin and came by no stream.
import { label } from '../resource/labels.ts';
import type { Resource } from '../resource/types.ts';

/** Whether this zone is the one that writes the row: its spec may be touched. */
export function isLocal({ labels, syncVersion }: Pick<Resource, 'labels' | 'syncVersion'>): boolean {
  const origin = labels[label.origin];
  return (origin === undefined || origin === 'zone') && syncVersion === null;
}

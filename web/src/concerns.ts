// Which events an answer depends on. Events of other topics than changes always count.
import type { LiveEvent } from './events.ts';

type Concerns = (event: NonNullable<LiveEvent>) => boolean;
type Change = Extract<NonNullable<LiveEvent>, { topic: 'changes' }>['data']['items'][number];

/** Changes of which one is as asked. */
export function changesOf(isMeant: (change: Change) => boolean): Concerns {
  return (event) => event.topic !== 'changes' || event.data.items.some(isMeant);
}

/** Changes of a resource. @param mesh `-` outside of meshes */
export function changesOfResource(type: string, mesh: string, name: string): Concerns {
  const inMesh = mesh === '-' ? '' : mesh;
  return changesOf((change) => change.type === type && change.name === name && (change.mesh ?? '') === inMesh);
}

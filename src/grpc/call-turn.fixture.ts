// The turn of a call, for tests of what is said of it.
import type { CallTurn } from './call-turn.ts';

/** A turn that comes at once, and writes what is said of its call into `steps`. */
export function notedTurn(steps: string[]): CallTurn {
  return {
    take: async () => void steps.push('turn'),
    leave: () => void steps.push('left'),
    giveBack: () => void steps.push('given back'),
    refuse: () => void steps.push('refused'),
    admit: () => void steps.push('admitted'),
  };
}

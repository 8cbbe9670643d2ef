// A permit of a call for tests, which records the steps of the call.
import type { CallPermit } from './call-permit.ts';

/** A permit that comes at once, and writes each report about its call into `steps`. */
export function notedPermit(steps: string[]): CallPermit {
  return {
    take: async () => void steps.push('permit'),
    leave: () => void steps.push('left'),
    giveBack: () => void steps.push('given back'),
    refuse: () => void steps.push('refused'),
    admit: () => void steps.push('admitted'),
  };
}

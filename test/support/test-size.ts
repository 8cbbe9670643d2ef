// The size of each long test: the full size with TEST_SIZE=full (`npm run test:long`), a part on each push.
const size = process.env['TEST_SIZE'] ?? 'push';
if (size !== 'push' && size !== 'full') throw new Error(`TEST_SIZE is "${size}"; it must be "push" or "full"`);

export const isFull = size === 'full';

/** The number for this run. */
export function sized({ push, full }: { readonly push: number; readonly full: number }): number {
  return isFull ? full : push;
}

// A setup file: adds a line to the file of MUTATION_HITS for each test file, with the numbers of the changes that it came to.
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';

export type Hits = { readonly file: string; readonly atImport: readonly number[]; readonly inTests: readonly number[] };

declare global {
  var mutationHits: Set<number> | undefined;
}

const target = process.env['MUTATION_HITS'];
if (target !== undefined) {
  const hits = (globalThis.mutationHits ??= new Set());
  hits.clear();
  // Modules are loaded once a worker: what happens then may count for another file of the same worker.
  let atImport: number[] = [];
  beforeAll(() => {
    atImport = [...hits];
    hits.clear();
  });
  afterAll(() => {
    const file = relative(process.cwd(), expect.getState().testPath ?? '');
    appendFileSync(target, `${JSON.stringify({ file, atImport, inTests: [...hits] } satisfies Hits)}\n`);
  });
}

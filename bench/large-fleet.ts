// `npm run bench:fleet`: how many zones one process and several replicas carry.
import { judged, sizes } from './large-fleet-sizes.ts';
import { manyReplicas } from './many-replicas.ts';
import { requireProc } from './measure.ts';
import { oneProcess } from './one-process.ts';
import { runProgram } from './program.ts';

await runProgram({
  command: 'npm run bench:fleet',
  about: 'Measure large fleets: one process with many zones and resources, and replicas of a global that share very many zones.',
  sizes,
  sections: [oneProcess, manyReplicas],
  judged,
  check: requireProc,
  examples: {
    '--one-zones 100 --one-resources 2000 --zones 500': 'a small run',
    '--only replicas --zones 500 --replicas 3': 'three replicas',
  },
});

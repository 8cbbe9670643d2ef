// `npm run bench`: measures the real processes side by side with the floor of this machine, in one run.
import { fleet, scaling } from './fleet-sections.ts';
import { requireProc } from './measure.ts';
import { runProgram } from './program.ts';
import { neighbours } from './neighbours.ts';
import { receipts } from './receipts.ts';
import { receiver } from './receiver.ts';
import { rest } from './rest.ts';
import { judged, sizes } from './settings.ts';
import { tables } from './two-zones.ts';

await runProgram({
  command: 'npm run bench',
  about: 'Measure a global and its zones against the floor: the least that a gRPC server needs for the same work. Two minutes.',
  sizes,
  sections: [fleet, neighbours, tables, receiver, rest, receipts, scaling],
  judged,
  check: requireProc,
  examples: {
    '--only join,change --json a.json': 'two sections, for programs too',
    '--only join,idle --zones 500 --zones-per-process 50': 'many zones',
    '--only scaling': 'twice the zones, twice the resources',
  },
});

// `npm run soak`: a fleet of zones and replicas that is disturbed for a long time; its memory, files and stores at the end.
import { requireProc } from '../../bench/measure.ts';
import { startOwnPostgres } from '../../bench/postgres.ts';
import { runProgram } from '../../bench/program.ts';
import { judged, sizes } from './sizes.ts';
import { soak } from './run.ts';

await runProgram({
  command: 'npm run soak',
  about:
    'Let zones join, leave, write and refuse for a long time while processes and PostgreSQL are restarted, and check that memory ' +
    'stays flat, that no file or timer is left, and that all stores are equal at the end.',
  sizes,
  sections: [soak],
  judged,
  check: requireProc,
  startPostgres: startOwnPostgres,
  failsOverBudget: true,
  examples: {
    '--minutes 2 --zones 20': 'a small run',
    '--minutes 60 --zones 200 --seed 7 --json soak.json': 'a long run of another plan, with its results in a file',
  },
});

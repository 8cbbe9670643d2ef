// `npm run bench:api`: the REST API of a global under load, one kind of request after the other.
import { historyCost } from './history.ts';
import { requireProc } from './measure.ts';
import { runProgram } from './program.ts';
import { restKinds } from './rest.ts';
import { sizes } from './settings.ts';
import { writes } from './writes.ts';

const { resources, restSeconds } = sizes;

await runProgram({
  command: 'npm run bench:api',
  about: 'Measure how many requests a second a global answers.',
  sizes: { resources, restSeconds },
  sections: [restKinds, historyCost, writes],
  judged: { sizes: '5,000 resources', by: (_, settings) => settings.resources === resources[0] },
  check: requireProc,
  examples: { '--only put --rest-seconds 30': 'writes alone, for long' },
});

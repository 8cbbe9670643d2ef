// `npm run bench:zone`: what keeping the services of a large zone costs, at one size and at half of it.
import { runProgram } from './program.ts';
import { reach } from './two-zones.ts';
import { checkSizes, judged, sizes, zoneServices } from './zone-services.ts';

await runProgram({
  command: 'npm run bench:zone',
  about: 'Measure the reconciler of the services of a zone against a real PostgreSQL.',
  sizes,
  sections: [zoneServices, reach],
  judged,
  check: checkSizes,
  examples: { '--only services --services 200 --dataplanes 1000 --changes 200': 'a smaller zone; its times are not judged' },
});

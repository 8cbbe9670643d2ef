// `npm run bench:proxies`: what a zone spends on its proxies, and how soon a request feels a change.
import { certificates } from './certificates.ts';
import { health } from './health.ts';
import { runProgram } from './program.ts';
import { fleet, redirected } from './proxy-fleet.ts';
import { requests } from './proxy-requests.ts';
import { judged, sizes } from './proxy-sizes.ts';

await runProgram({
  command: 'npm run bench:proxies',
  about: 'Measure how a zone configures proxies, against a real PostgreSQL.',
  sizes,
  sections: [requests, certificates, health, fleet, redirected],
  judged,
  examples: {
    '--only fleet --proxies 100 --services 50': 'a smaller fleet; it is not judged',
    '--only redirected --services 1000': 'redirected proxies with the services that their budget is for',
  },
});

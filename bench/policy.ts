// `npm run bench:policy`: rules and inspect answers in a large mesh, on the store that is embedded.
import { inspect } from './policy-inspect.ts';
import { POLICIES, PROXIES, SERVICES } from './policy-mesh.ts';
import { rules } from './policy-rules.ts';
import { runProgram } from './program.ts';

await runProgram({
  command: 'npm run bench:policy',
  about: 'Measure the rules of proxies and the answers of inspect, with 1,000 services, 1,000 proxies and 2,000 policies.',
  sizes: {},
  fixedSizes: { services: SERVICES, proxies: PROXIES, policies: POLICIES },
  sections: [rules, inspect],
  examples: { '--only rules': 'without the store and the API' },
});

// `npm run bench:page`: what the page costs the browser of a person, and what an open page costs the control plane.
import { sizes } from './open-page.ts';
import { frames } from './page-frames.ts';
import { openPages } from './page-server.ts';
import { runProgram } from './program.ts';

await runProgram({
  command: 'npm run bench:page',
  about: 'Measure the page in a Chromium: CPU of its frames, and CPU of the control plane whose page is open.',
  sizes,
  sections: [frames, openPages],
  examples: { '--only changing': 'what open pages cost a global, in eight minutes' },
});

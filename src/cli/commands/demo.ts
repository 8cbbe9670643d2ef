// `meridian demo`: a whole deployment on this machine.
import type { Command } from 'commander';

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description(
      'run a global and the zones east and west here, apply examples/shop, show which control plane holds which resource',
    )
    .option('--once', 'stop when everything is verified; exit 0 if it is in step')
    .option('--no-envoy', 'send no requests through Envoy proxies')
    .addHelpText(
      'after',
      '\nExamples:\n  meridian demo           stays up until Ctrl-C\n  meridian demo --once    verifies, on free ports, and stops',
    )
    .action(async ({ once = false, envoy }: { once?: boolean; envoy: boolean }) => {
      const { demo } = await import('../demo/run-demo.ts');
      process.exitCode = await demo({ once, envoy });
    });
}

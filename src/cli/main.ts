// The `meridian` command: what people and scripts start. Exit codes: 0 done, 1 not done, 2 the call was not understood.
import { Command, CommanderError } from 'commander';
import { MeridianError, messageOf } from '../base/errors.ts';
import { productVersion } from '../base/version.ts';
import { print } from './output.ts';
import { addResourceCommands } from './resource-commands.ts';
import { addRunCommands } from './run-commands.ts';

const program = new Command('meridian')
  .description('A multizone control plane: one global and many zones, kept in step within milliseconds.')
  .showHelpAfterError('(--help shows what is possible)')
  .exitOverride()
  .addHelpText(
    'after',
    '\nFirst steps:\n  meridian demo                 a global and two zones on this machine\n  meridian get meshes           what a control plane holds\n\nExit codes: 0 done, 1 not done, 2 the call was not understood.',
  );

program
  .command('version')
  .description('the version of this command')
  .option('-o, --output <format>', 'text or json', 'text')
  .action(({ output }: { output: string }) =>
    print(output === 'json' ? JSON.stringify({ product: 'Meridian', version: productVersion }) : `Meridian ${productVersion}`),
  );
addRunCommands(program);
addResourceCommands(program);
program
  .command('demo')
  .description('run a global and the zones east and west here, apply examples/shop, show who holds what')
  .option('--once', 'stop when all is verified to be in step; exit 0 if it is')
  .action(async ({ once = false }: { once?: boolean }) => {
    const { demo } = await import('./demo.ts');
    process.exitCode = await demo({ once });
  });

for (const command of program.commands) command.exitOverride();

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    const violations = error instanceof MeridianError && error.code !== 'config' ? error.violations : [];
    const lines = [`meridian: ${messageOf(error)}`, ...violations.map(({ field, reason }) => `  ${field}: ${reason}`)];
    process.stderr.write(`${lines.join('\n')}\n`);
    process.exitCode = 1;
  }
}

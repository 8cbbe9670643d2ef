// The `meridian` command: its entry point.
import { surviveBrokenOutput } from './broken-output.ts';
import { runCommand } from './run-command.ts';
import { keepHangupIgnored } from './stop-signals.ts';

const words = process.argv.slice(2);
surviveBrokenOutput(words[0]);
keepHangupIgnored();
const code = await runCommand(words);
if (code !== undefined) process.exitCode = code;

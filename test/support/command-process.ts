// A process that runs many `meridian` commands, one after the other, each as if the process were its own: run-meridian.ts starts it
// and sends the commands. A command that waits for a signal or calls `process.exit` needs a real process.
import { globalAgent as http } from 'node:http';
import { globalAgent as https } from 'node:https';
import { Readable } from 'node:stream';
import { runCommand } from '../../src/cli/run-command.ts';
import type { Outcome } from './run-meridian.ts';

export type Call = {
  readonly args: readonly string[];
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
};

process.on('message', (call: Call) => {
  run(call).then(
    (outcome) => process.send?.(outcome),
    (error: unknown) => {
      throw error;
    },
  );
});
// The process of the test is gone.
process.on('disconnect', () => process.exit());

async function run({ args, input, env, cwd }: Call): Promise<Outcome> {
  takeEnvironment(env);
  process.chdir(cwd);
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true });
  const stdout = collect(process.stdout);
  const stderr = collect(process.stderr);
  try {
    const code = (await runCommand(args)) ?? Number(process.exitCode ?? 0);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    stdout.restore();
    stderr.restore();
    process.exitCode = undefined;
    // The end of a process closes its connections.
    http.destroy();
    https.destroy();
  }
}

function takeEnvironment(env: NodeJS.ProcessEnv): void {
  for (const key of Object.keys(process.env)) if (env[key] === undefined) Reflect.deleteProperty(process.env, key);
  Object.assign(process.env, env);
}

/** Keeps what is written to a stream. */
function collect(stream: NodeJS.WriteStream): { text: () => string; restore: () => void } {
  const chunks: Buffer[] = [];
  stream.write = (chunk: string | Uint8Array) => {
    chunks.push(Buffer.from(chunk));
    return true;
  };
  return { text: () => Buffer.concat(chunks).toString(), restore: () => void Reflect.deleteProperty(stream, 'write') };
}

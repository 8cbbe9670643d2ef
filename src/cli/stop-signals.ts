// The signals that end a command which runs until it is stopped. Node takes SIGHUP from a process that was started with nohup, so
// `bin/meridian` looks whether it is ignored, and says so in a variable.

const VARIABLE = 'MERIDIAN_SIGHUP_IGNORED';
const isHangupIgnored = process.env[VARIABLE] === '1';
// The variable is about this process alone, and is no key of the configuration.
Reflect.deleteProperty(process.env, VARIABLE);

/** SIGHUP means that the terminal was closed. It is not among them under nohup. */
export const stopSignals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', ...(isHangupIgnored ? [] : ['SIGHUP' as const])];

/** Makes the process ignore SIGHUP again, if it was started so. */
export function keepHangupIgnored(): void {
  if (isHangupIgnored) process.on('SIGHUP', () => undefined);
}

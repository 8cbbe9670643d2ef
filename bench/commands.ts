// The side of a process that a run has started: it takes commands of the run and reports to it, and ends with it.

/** @param take a command; what it returns is reported */
export function takeCommands(take: (command: never) => unknown): void {
  // The terminal interrupts everyone; the process that measures decides when this one ends.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  process.on('message', (command) => {
    void Promise.resolve(take(command as never)).then((found) => {
      if (found !== undefined) report(found);
    });
  });
}

export function report(message: unknown): void {
  process.send?.(message);
}

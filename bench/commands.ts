// The side of a process that a run has started: it takes commands of the run and reports to it, and ends with it.

/** @param take a command; what it returns is reported */
export function takeCommands<C, R>(take: (command: C) => Promise<R> | R | void): void {
  // The terminal interrupts everyone; the process that measures decides when this one ends.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  process.on('message', (command: C) => {
    void Promise.resolve(take(command)).then((found) => {
      if (found !== undefined) report(found);
    });
  });
}

export function report<R>(message: R): void {
  process.send?.(message);
}

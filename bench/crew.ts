// Processes of one script, each with its part of the fake peers, as one thing that can be told something and waited for.
import type { ChildProcess } from 'node:child_process';
import { ask, endChild, startScript } from './children.ts';

/** @typeParam C what they are told @typeParam R what they report; first that they are up */
export class Crew<C extends object, R extends object> {
  readonly parts: readonly (readonly string[])[];
  readonly #children: readonly ChildProcess[];
  #isEnding = false;

  private constructor(children: readonly ChildProcess[], parts: readonly (readonly string[])[]) {
    this.#children = children;
    this.parts = parts;
  }

  /** @param parts the names of the peers of each process */
  static async start<C extends object, R extends object>(
    script: string,
    parts: readonly (readonly string[])[],
  ): Promise<Crew<C, R>> {
    const children = parts.map(() => startScript(script));
    await Promise.all(children.map((child) => ask(child, null, () => true)));
    return new Crew<C, R>(children, parts);
  }

  /** @param take called with the number of the process @param onEnded one has ended by itself */
  listen(take: (report: R, at: number) => void, onEnded: (error: Error) => void): void {
    for (const [at, child] of this.#children.entries()) {
      child.on('message', (report: R) => take(report, at));
      child.once('exit', () => {
        if (!this.#isEnding) onEnded(new Error('a process of fake peers ended by itself'));
      });
    }
  }

  /** @param commandOf of the names of a process; null tells it nothing */
  tell(commandOf: (names: readonly string[]) => C | null): void {
    for (const [at, child] of this.#children.entries()) {
      const command = commandOf(this.parts[at] ?? []);
      if (command !== null && child.connected) child.send(command);
    }
  }

  /** What each reports first that fits. @throws Error when one ends or takes too long */
  async each<T>(
    commandOf: ((names: readonly string[]) => C) | null,
    fits: (report: R) => T | null,
    limitMs?: number,
  ): Promise<T[]> {
    return await Promise.all(
      this.#children.map((child, at) => ask(child, commandOf === null ? null : commandOf(this.parts[at] ?? []), fits, limitMs)),
    );
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#children.map(endChild));
  }
}

/** So many names in each part. */
export function parted(names: readonly string[], perPart: number): string[][] {
  return Array.from({ length: Math.ceil(names.length / perPart) }, (_, at) => names.slice(at * perPart, (at + 1) * perPart));
}

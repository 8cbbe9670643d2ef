// Tasks at dates. A timer measures elapsed time: it is late when the date is set forward or the machine sleeps. Invariants: a task runs at
// its date, or within a minute after the date has passed by such a jump. Tasks that are more than a minute away share one timer.
import type { Clock } from './clock.ts';

/** The interval of the looks at the date, in milliseconds. */
const LOOK_MS = 60_000;

type Task = { readonly at: number; readonly run: () => void; cancel: () => void };

export class DatedTasks {
  readonly #clock: Pick<Clock, 'now' | 'elapsed' | 'after'>;
  readonly #onSetBack: () => void;
  /** Tasks without a timer of their own, by the minute of their date. */
  readonly #later = new Map<number, Set<Task>>();
  #cancelLook: (() => void) | null = null;
  /** The milliseconds by which the date was ahead of the elapsed time when the next look was planned. */
  #dateAhead = 0;

  /** @param onSetBack called when a look finds that the date was set back by more than a minute. Only far tasks have looks */
  constructor(clock: Pick<Clock, 'now' | 'elapsed' | 'after'>, onSetBack: () => void = () => undefined) {
    this.#clock = clock;
    this.#onSetBack = onSetBack;
  }

  /**
   * Runs a task once at a date, or soon if that has passed. It does not keep the process alive.
   * @param at milliseconds since 1970
   * @returns cancels the task
   */
  plan(at: number, run: () => void): () => void {
    const task: Task = { at, run, cancel: () => undefined };
    this.#place(task);
    return () => task.cancel();
  }

  #place(task: Task): void {
    const wait = Math.max(task.at - this.#clock.now().getTime(), 0);
    if (wait > LOOK_MS) this.#wait(task);
    else task.cancel = this.#clock.after(wait, task.run);
  }

  #wait(task: Task): void {
    const minute = minuteOf(task.at);
    const tasks = this.#later.get(minute) ?? new Set();
    this.#later.set(minute, tasks.add(task));
    this.#planLook();
    task.cancel = () => {
      // A second call does nothing: the minute may have another set of tasks meanwhile.
      if (!tasks.delete(task) || tasks.size > 0) return;
      this.#later.delete(minute);
      if (this.#later.size > 0) return;
      this.#cancelLook?.();
      this.#cancelLook = null;
    };
  }

  #planLook(): void {
    if (this.#cancelLook !== null) return;
    this.#dateAhead = this.#clock.now().getTime() - this.#clock.elapsed();
    this.#cancelLook = this.#clock.after(LOOK_MS, () => this.#look());
  }

  /** Gives timers to the tasks of the next minute. */
  #look(): void {
    this.#cancelLook = null;
    const setBackMs = this.#dateAhead - (this.#clock.now().getTime() - this.#clock.elapsed());
    const next = minuteOf(this.#clock.now().getTime()) + 1;
    const near = [...this.#later].filter(([minute]) => minute <= next);
    for (const [minute] of near) this.#later.delete(minute);
    for (const [, tasks] of near) for (const task of tasks) this.#place(task);
    if (this.#later.size > 0) this.#planLook();
    if (setBackMs > LOOK_MS) this.#onSetBack();
  }
}

function minuteOf(at: number): number {
  return Math.floor(at / LOOK_MS);
}

// What a long step of a run says while it lasts.

/** Milliseconds between two lines. */
const LINE_MS = 10_000;

/** Settles as the task does. @param progress makes a line */
export async function sayWhile<T>(task: Promise<T>, say: (text: string) => void, progress: () => string): Promise<T> {
  const timer = setInterval(() => say(progress()), LINE_MS);
  return await task.finally(() => clearInterval(timer));
}

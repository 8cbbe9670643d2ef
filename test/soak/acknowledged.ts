// What was promised: the last write of each resource that a control plane acknowledged. Pure.

/** A revision, or null for a removed resource. */
type Content = number | null;

export class Acknowledged {
  /** `undefined`: the last write had no answer, and both contents are right. */
  readonly #promised = new Map<string, Content | undefined>();

  /** @param content null for a removal @param status of the answer; 0 is none */
  take(key: string, content: Content, status: number): void {
    const isDone = (status >= 200 && status < 300) || (content === null && status === 404);
    this.#promised.set(key, isDone ? content : undefined);
  }

  get size(): number {
    return [...this.#promised.values()].filter((content) => content !== undefined).length;
  }

  /** The resources that are not as promised. @param stored key → revision of all stored resources */
  broken(stored: ReadonlyMap<string, number>): string[] {
    return [...this.#promised].flatMap(([key, content]) => {
      if (content === undefined) return [];
      const found = stored.get(key) ?? null;
      return found === content ? [] : [`${key} is ${describe(found)}, but ${describe(content)} was acknowledged`];
    });
  }
}

function describe(content: Content): string {
  return content === null ? 'absent' : `revision ${String(content)}`;
}

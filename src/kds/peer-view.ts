// What one peer may see of the log, under which names and in which form.
import type { Encoding, Entry, Form, Withheld } from './entry.ts';
import type { Item } from './response-draft.ts';

/** Decides which resources one peer sees, and in which form. */
export type PeerView = {
  readonly canSee: (entry: Entry) => boolean;
  readonly form: Form;
  /** Bytes of resources and names that fit into a message. A larger resource must not delay the others of its type. */
  readonly largestBytes: number;
};

/** The bytes of a resource for a peer, or why it cannot read them. Null if it must not see the resource. */
export function encodingFor({ canSee, form, largestBytes }: PeerView, entry: Entry | null): Encoding | Withheld | null {
  if (entry === null || !canSee(entry)) return null;
  const encoding = entry.in(form);
  if ('withheld' in encoding || encoding.bytes.length <= largestBytes) return encoding;
  return { withheld: `it has ${String(encoding.bytes.length)} bytes; a message to this peer takes ${String(largestBytes)}` };
}

/** The name of a resource for a peer. */
export function nameFor({ form }: PeerView, { plainName, wireName }: Item): string {
  return form === 'legacy' ? plainName : wireName;
}

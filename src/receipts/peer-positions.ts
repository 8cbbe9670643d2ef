// The positions of each peer in the log of each type, in arrays by the index of the peer: a map for each of 10,000 peers takes
// five times as much memory. Pure.

const FIELDS = ['sent', 'acknowledged'] as const;
type Field = (typeof FIELDS)[number];

/** Room for a peer with this index, and for a tenth more. */
export function roomFor(index: number, room: number): number {
  return index < room ? room : Math.max(index + 1, Math.ceil((room * 1.1) / 16) * 16 + 16);
}

export class PeerPositions {
  readonly #byType = new Map<string, Record<Field, Float64Array>>();

  /** The position of a peer; 0 before the peer was sent anything of the type. */
  of(field: Field, type: string, index: number): number {
    return this.#byType.get(type)?.[field][index] ?? 0;
  }

  /** Positions only grow. @returns the one before */
  raise(field: Field, type: string, index: number, position: number): number {
    const known = this.#byType.get(type) ?? { sent: new Float64Array(0), acknowledged: new Float64Array(0) };
    this.#byType.set(type, known);
    const room = roomFor(index, known.sent.length);
    if (room > known.sent.length) for (const one of FIELDS) known[one] = longer(known[one], room);
    const before = known[field][index] ?? 0;
    known[field][index] = Math.max(before, position);
    return before;
  }

  /** Resets a peer that begins again, with one type or with all of them, or whose index another one gets. */
  clear(index: number, type?: string): void {
    for (const [one, known] of this.#byType) {
      if (type !== undefined && one !== type) continue;
      for (const field of FIELDS) if (index < known[field].length) known[field][index] = 0;
    }
  }
}

function longer(array: Float64Array, room: number): Float64Array {
  const copy = new Float64Array(room);
  copy.set(array);
  return copy;
}

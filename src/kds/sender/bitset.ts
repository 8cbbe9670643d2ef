// One bit per slot: the resources of a type that a peer may hold. 20,000 entries × 500 zones are 1.25 MB (engine 3).

/** All sets without a bit share it. Most are empty: a zone has resources of few types. */
const NO_WORDS = new Uint32Array();

export class Bitset {
  #words = NO_WORDS;

  has(index: number): boolean {
    return (((this.#words[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1;
  }

  /** @returns false if the bit was set already */
  add(index: number): boolean {
    const word = index >>> 5;
    if (word >= this.#words.length) {
      const grown = new Uint32Array(Math.max(word + 1, this.#words.length * 2));
      grown.set(this.#words);
      this.#words = grown;
    }
    const before = this.#words[word] ?? 0;
    this.#words[word] = before | (1 << (index & 31));
    return ((before >>> (index & 31)) & 1) === 0;
  }

  delete(index: number): void {
    const word = index >>> 5;
    if (word < this.#words.length) this.#words[word] = (this.#words[word] ?? 0) & ~(1 << (index & 31));
  }

  /** The set bits, ascending. The cost of an empty word is a comparison. */
  *indexes(): Generator<number> {
    for (const [word, bits] of this.#words.entries())
      for (let left = bits; left !== 0; left &= left - 1) yield word * 32 + (31 - Math.clz32(left & -left));
  }
}

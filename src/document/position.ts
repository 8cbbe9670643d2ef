// The position of a field in a file: converts the path of a violation, `spec.to[0].default.http.requestTimeout`, to line and column,
// with the node ranges of the YAML library. A file is parsed again for this, once, and only after an error.
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Document, type Node } from 'yaml';
import { parseYaml } from '../base/parse-yaml.ts';

export type Position = { readonly line: number; readonly column: number };
type Step = string | number;
type Parsed = { readonly documents: readonly Document.Parsed[]; readonly lines: LineCounter };

export class SourceFile {
  readonly name: string;
  readonly #text: string;
  #parsed: Parsed | undefined;

  constructor(name: string, text: string) {
    this.name = name;
    this.#text = text;
  }

  /** The documents as the YAML library parses them. */
  get documents(): readonly Document.Parsed[] {
    return this.#read().documents;
  }

  /**
   * The position of the field's key in the document, or of its parent's key if it is missing.
   * @param index the index of the document in the file, from 0
   */
  positionOf(index: number, path: string): Position {
    const { documents, lines } = this.#read();
    const document = documents[index];
    if (document === undefined) return { line: 1, column: 1 };
    const { line, col } = lines.linePos(offsetOf(document, pathSteps(path)));
    return { line, column: col };
  }

  #read(): Parsed {
    return (this.#parsed ??= parse(this.#text));
  }

  /** The text of a line, for people. */
  line(number: number): string {
    return this.#text.split('\n', number)[number - 1] ?? '';
  }
}

/** `spec.to[0].labels["kuma.io/zone"]` → spec, to, 0, labels, kuma.io/zone. Unparsable text ends the path. */
export function pathSteps(path: string): Step[] {
  const steps: Step[] = [];
  const part = /\.?([A-Za-z_$][\w$-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;
  while (part.lastIndex < path.length) {
    const [, key, index, quoted] = part.exec(path) ?? [];
    if (key !== undefined) steps.push(key);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(JSON.parse(quoted) as string);
    else break;
  }
  return steps;
}

/** The path of a member of a field, as `pathSteps` reads it. */
export function memberPath(path: string, step: Step): string {
  if (typeof step === 'number') return `${path}[${String(step)}]`;
  if (!/^[A-Za-z_$][\w$-]*$/.test(step)) return `${path}[${JSON.stringify(step)}]`;
  return path === '' ? step : `${path}.${step}`;
}

function parse(text: string): Parsed {
  const lines = new LineCounter();
  return { documents: parseYaml(text, lines), lines };
}

function offsetOf(document: Document.Parsed, steps: readonly Step[]): number {
  let node: Node | null = document.contents;
  let offset = node?.range?.[0] ?? document.range[0];
  for (const step of steps) {
    if (isAlias(node)) node = node.resolve(document) ?? null;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
      if (pair === undefined) break;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value as Node | null;
    } else if (isSeq(node)) {
      const item = node.items[Number(step)] as Node | undefined;
      if (item === undefined) break;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else break;
  }
  return offset;
}

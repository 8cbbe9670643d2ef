// The answers to questions about YAML, for the threads beside the control plane. Pure.
import { LineCounter, stringify } from 'yaml';
import { parseYaml } from '../base/parse-yaml.ts';
import { SourceFile, type Position } from '../document/position.ts';
import { TOO_DEEP, unfitPart } from '../document/unfit-part.ts';
import { writtenField } from '../document/written-field.ts';

export type YamlQuestion =
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'print'; readonly json: string }
  | { readonly kind: 'locate'; readonly text: string; readonly fields: readonly YamlField[] };
/** A field of the document with this index among those that are not empty. */
export type YamlField = { readonly index: number; readonly field: string };
type YamlFault = Partial<Position> & { readonly field: string; readonly reason: string };

export type YamlAnswer =
  /** Each document as JSON. */
  | { readonly kind: 'documents'; readonly documents: readonly string[] }
  | { readonly kind: 'fault'; readonly fault: YamlFault }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'positions'; readonly positions: readonly Position[] };

const MAX_ALIASES = 100;

export function answerAboutYaml(question: YamlQuestion): YamlAnswer {
  if (question.kind === 'print') return { kind: 'text', text: stringify(JSON.parse(question.json), { lineWidth: 0 }) };
  if (question.kind === 'read') return read(question.text);
  return { kind: 'positions', positions: positionsIn(question.text, question.fields) };
}

/** Fields of the Universal form, at their places in the written documents. */
function positionsIn(text: string, fields: readonly YamlField[]): Position[] {
  const file = new SourceFile('', text);
  const written = [...file.documents.entries()]
    .map(([at, document]): [number, unknown] => [at, document.toJS({ maxAliasCount: MAX_ALIASES })])
    .filter(([, value]) => isGiven(value));
  return fields.map(({ index, field }) => {
    const [at, value] = written[index] ?? [index, undefined];
    return file.positionOf(at, writtenField(value, field));
  });
}

/** An empty document, or one of comments alone, does not count. */
function isGiven(value: unknown): boolean {
  return value !== null && value !== undefined;
}

function read(text: string): YamlAnswer {
  const lines = new LineCounter();
  const documents: string[] = [];
  for (const [index, document] of parseYaml(text, lines).entries()) {
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lines.linePos(error.pos[0]);
      return fault({ field: '', reason: error.code === 'RESOURCE_EXHAUSTION' ? TOO_DEEP : error.message, line, column: col });
    }
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (cause) {
      return fault({ field: '', reason: String(cause instanceof Error ? cause.message : cause).split('\n')[0] ?? '' });
    }
    if (!isGiven(value)) continue;
    const unfit = unfitPart(value);
    if (unfit !== null) return fault({ ...unfit, ...new SourceFile('', text).positionOf(index, unfit.field) });
    documents.push(JSON.stringify(value));
  }
  return { kind: 'documents', documents };
}

function fault(of: YamlFault): YamlAnswer {
  return { kind: 'fault', fault: of };
}

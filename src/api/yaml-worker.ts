// A thread that reads and prints YAML: a text of some hundred kilobytes takes seconds, which the control plane has not.
import { parentPort } from 'node:worker_threads';
import { LineCounter, parseAllDocuments, stringify } from 'yaml';
import { SourceFile, type Position } from '../document/position.ts';
import { TOO_DEEP, unfitPart } from '../document/unfit-part.ts';

export type YamlQuestion =
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'print'; readonly json: string }
  | { readonly kind: 'locate'; readonly text: string; readonly fields: readonly YamlField[] };
/** A field of the document with this index. */
export type YamlField = { readonly index: number; readonly field: string };
export type YamlFault = Partial<Position> & { readonly field: string; readonly reason: string };

export type YamlAnswer =
  /** Each document as JSON. */
  | { readonly kind: 'documents'; readonly documents: readonly string[] }
  | { readonly kind: 'fault'; readonly fault: YamlFault }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'positions'; readonly positions: readonly Position[] };

parentPort?.on('message', (question: YamlQuestion) => parentPort?.postMessage(answerTo(question)));

function answerTo(question: YamlQuestion): YamlAnswer {
  if (question.kind === 'print') return { kind: 'text', text: stringify(JSON.parse(question.json), { lineWidth: 0 }) };
  if (question.kind === 'read') return read(question.text);
  const file = new SourceFile('', question.text);
  return { kind: 'positions', positions: question.fields.map(({ index, field }) => file.positionOf(index, field)) };
}

function read(text: string): YamlAnswer {
  const lines = new LineCounter();
  const documents: string[] = [];
  for (const [index, document] of parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
  }).entries()) {
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lines.linePos(error.pos[0]);
      return fault({ field: '', reason: error.code === 'RESOURCE_EXHAUSTION' ? TOO_DEEP : error.message, line, column: col });
    }
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch (cause) {
      return fault({ field: '', reason: String(cause instanceof Error ? cause.message : cause).split('\n')[0] ?? '' });
    }
    if (value === null || value === undefined) continue;
    const unfit = unfitPart(value);
    if (unfit !== null) return fault({ ...unfit, ...new SourceFile('', text).positionOf(index, unfit.field) });
    documents.push(JSON.stringify(value));
  }
  return { kind: 'documents', documents };
}

function fault(of: YamlFault): YamlAnswer {
  return { kind: 'fault', fault: of };
}

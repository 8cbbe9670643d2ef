// Every regular expression of the product takes time that grows with the length of a hostile text, not with its square or worse.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Worker } from 'node:worker_threads';
import * as ts from 'typescript/unstable/ast';
import { afterAll, describe, expect, it } from 'vitest';
import { parseSource } from '../scripts/parse-source.ts';
import { fc } from './support/property.ts';
import type { Attack, HostileText, Slow } from './support/regex-worker.ts';

const SRC = join(import.meta.dirname, '../src');
/** Characters of a hostile text. At this length a quadratic search takes some hundred milliseconds, a linear one less than one. */
const LENGTH = 20_000;
const MAX_CPU_MS = 60;
/** Beginnings, and repeated parts, of the hostile texts for one expression. */
const MAX_HEADS = 6;
const MAX_PUMPS = 40;
/** A search that has taken so much CPU has not ended by far: the worker is stopped. */
const GIVE_UP_CPU_MS = 600;
const LOOK_EVERY_MS = 100;

type Found = { readonly place: string; readonly source: string; readonly flags: string };

/** Regular expressions written as literals, and those built of texts that are known: constants of the same file. */
function regexesOf(file: string): Found[] {
  const place = relative(SRC, file);
  const tree = parseSource(readFileSync(file, 'utf8'));
  const constants = new Map<string, ts.Expression>();
  const found: Found[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined)
      constants.set(node.name.text, node.initializer);
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      found.push({ place, source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    }
    const isRegex = ts.isNewExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'RegExp';
    if (isRegex && !isOnlyCompiled(node)) {
      const [source, flags] = node.arguments ?? [];
      found.push({
        place,
        source: textOf(source, constants, place),
        flags: flags === undefined ? '' : textOf(flags, constants, place),
      });
    }
    node.forEachChild(visit);
  };
  visit(tree);
  return found;
}

/** `new RegExp(…) instanceof RegExp`: whether a text is an expression. It never meets another text. */
function isOnlyCompiled({ parent }: ts.Node): boolean {
  return ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword;
}

/** The value of a text that is made of constants. */
function textOf(node: ts.Expression | undefined, constants: ReadonlyMap<string, ts.Expression>, place: string): string {
  if (node !== undefined && ts.isStringLiteralLikeNode(node)) return node.text;
  if (node !== undefined && ts.isRegularExpressionLiteral(node)) return node.text.slice(1, node.text.lastIndexOf('/'));
  if (node !== undefined && ts.isIdentifier(node)) return textOf(constants.get(node.text), constants, place);
  if (node !== undefined && ts.isTemplateExpression(node))
    return node.templateSpans.reduce(
      (text, span) => text + textOf(span.expression, constants, place) + span.literal.text,
      node.head.text,
    );
  throw new Error(`${place}: a RegExp must be built of constants of its own file, so that its cost is known`);
}

/** Beginnings and repeated parts of a match: their texts nearly match, with an end that fits nothing. */
function hostileTexts({ source, flags }: Found): HostileText[] {
  const characters = new Set(`a1 .-{/"\n${source.replaceAll(/\\./g, '').replaceAll(/[()[\]^$*+?|]/g, '')}`.split(''));
  const samples = matchesOf(source, flags);
  const pumps = new Set(characters);
  const literal = source.replaceAll('\\', '').replaceAll(/^\^|^\(\?:/g, '');
  const heads = new Set(['', literal.slice(0, 1), literal.slice(0, 2)]);
  for (const sample of samples)
    for (let at = 0; at < Math.min(sample.length, 12); at += 1) {
      heads.add(sample.slice(0, at));
      for (const size of [1, 2, 3]) if (at + size <= sample.length) pumps.add(sample.slice(at, at + size));
    }
  return [...heads].slice(0, MAX_HEADS).flatMap((head) => [...pumps].slice(0, MAX_PUMPS).map((pump) => ({ head, pump })));
}

/** Texts that match; none where the expression has what the generator does not know. */
function matchesOf(source: string, flags: string): string[] {
  try {
    // A lazy quantifier matches the same texts.
    const regex = new RegExp(source.replaceAll(/(?<!\\)([*+}])\?/g, '$1'), flags.replace(/[gy]/g, ''));
    return fc.sample(fc.stringMatching(regex, { size: 'small' }), { numRuns: 5, seed: 1 });
  } catch {
    return [];
  }
}

class Attacker {
  #worker: Promise<Worker> | null = null;
  /** The number of the text that is searched. The worker writes it, also while it cannot answer. */
  readonly #at = new Int32Array(new SharedArrayBuffer(4));

  /** Resolves when the worker has loaded: that takes its time, and is no part of a search. */
  async #start(): Promise<Worker> {
    const worker = new Worker(new URL('./support/regex-worker.ts', import.meta.url), { workerData: this.#at });
    await once(worker, 'message');
    return worker;
  }

  /** The first text that takes too much CPU time, with that time in milliseconds; infinite where the search does not end. */
  async slowOf({ source, flags }: Found): Promise<Slow | null> {
    const texts = hostileTexts({ place: '', source, flags });
    const worker = await (this.#worker ??= this.#start());
    let before = await worker.cpuUsage();
    let at = -1;
    Atomics.store(this.#at, 0, 0);
    return await new Promise((resolve, reject) => {
      let isOver = false;
      const end = (slow: Slow | null): void => {
        isOver = true;
        clearInterval(timer);
        worker.off('error', reject);
        resolve(slow);
      };
      const timer = setInterval(() => {
        void worker.cpuUsage().then((now) => {
          const next = Atomics.load(this.#at, 0);
          if (next !== at) [at, before] = [next, now];
          const cpu = (now.user + now.system - before.user - before.system) / 1_000;
          if (isOver || cpu < GIVE_UP_CPU_MS) return;
          this.#worker = null;
          end({ ms: Infinity, at });
          void worker.terminate();
        }, reject);
      }, LOOK_EVERY_MS);
      worker.once('error', reject);
      worker.once('message', end);
      worker.postMessage({ source, flags, texts, length: LENGTH, maxMs: MAX_CPU_MS } satisfies Attack);
    });
  }

  async end(): Promise<void> {
    await (await this.#worker)?.terminate();
  }
}

const attacker = new Attacker();
afterAll(() => attacker.end());

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.includes('generated'))
  .map((file) => join(SRC, file));
const all = new Map(files.flatMap(regexesOf).map((found) => [`${found.place} /${found.source}/${found.flags}`, found]));

describe('a regular expression', () => {
  it('is found by the search', () => {
    expect(all.size).toBeGreaterThan(80);
  });

  it.each<[string, string]>([
    ['cubic', String.raw`\{\{\s*([^{}]*?)\s*\}\}`],
    ['quadratic', String.raw`\s+$`],
    ['exponential', String.raw`^(a+)+$`],
  ])(
    'that is %s is detected',
    async (_, source) => {
      expect((await attacker.slowOf({ place: '', source, flags: '' }))?.ms).toBeGreaterThan(MAX_CPU_MS);
    },
    60_000,
  );

  it.each([...all])(
    'takes linear time: %s',
    async (_, found) => {
      const slow = await attacker.slowOf(found);
      expect(slow, slow === null ? '' : `on ${JSON.stringify(hostileTexts(found)[slow.at])}`).toBeNull();
    },
    120_000,
  );
});

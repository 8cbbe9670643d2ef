// Every regular expression of the product takes time that grows with the length of a hostile text, not with its square or worse.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Worker } from 'node:worker_threads';
import * as ts from 'typescript/unstable/ast';
import { afterAll, describe, expect, it } from 'vitest';
import { parseSource } from '../scripts/parse-source.ts';
import { fc } from './support/property.ts';

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

/** Texts that nearly match: parts of a match, repeated, and an end that fits nothing. */
function hostileTexts({ source, flags }: Found): string[] {
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
  return [...heads]
    .slice(0, MAX_HEADS)
    .flatMap((head) =>
      [...pumps].slice(0, MAX_PUMPS).map((pump) => `${head}${pump.repeat(Math.ceil(LENGTH / pump.length))}\u0001`),
    );
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

  /** Resolves when the worker has loaded: that takes its time, and is no part of a search. */
  async #start(): Promise<Worker> {
    const worker = new Worker(new URL('./support/regex-worker.ts', import.meta.url));
    await once(worker, 'message');
    return worker;
  }

  /** CPU time in milliseconds; infinite where the search does not end. */
  async cpuOf({ source, flags }: Found, text: string): Promise<number> {
    const worker = await (this.#worker ??= this.#start());
    const before = await worker.cpuUsage();
    return await new Promise((resolve, reject) => {
      let isOver = false;
      const end = (ms: number): void => {
        isOver = true;
        clearInterval(timer);
        worker.off('error', reject);
        resolve(ms);
      };
      const timer = setInterval(() => {
        void worker.cpuUsage(before).then(({ user, system }) => {
          if (isOver || (user + system) / 1_000 < GIVE_UP_CPU_MS) return;
          this.#worker = null;
          end(Infinity);
          void worker.terminate();
        }, reject);
      }, LOOK_EVERY_MS);
      worker.once('error', reject);
      worker.once('message', end);
      worker.postMessage({ source, flags, text });
    });
  }

  async end(): Promise<void> {
    await (await this.#worker)?.terminate();
  }
}

const attacker = new Attacker();
afterAll(() => attacker.end());

/** The worst of the attacks; one that is slow once may have met a pause of the engine, and is run again. */
async function worstOf(found: Found): Promise<{ readonly ms: number; readonly text: string }> {
  for (const text of hostileTexts(found)) {
    let ms = await attacker.cpuOf(found, text);
    for (let again = 0; again < 3 && ms > MAX_CPU_MS && ms !== Infinity; again += 1)
      ms = Math.min(ms, await attacker.cpuOf(found, text));
    if (ms > MAX_CPU_MS) return { ms, text };
  }
  return { ms: 0, text: '' };
}

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
      expect((await worstOf({ place: '', source, flags: '' })).ms).toBeGreaterThan(MAX_CPU_MS);
    },
    60_000,
  );

  it.each([...all])(
    'takes linear time: %s',
    async (_, found) => {
      const { ms, text } = await worstOf(found);
      expect(ms, `on ${JSON.stringify(text.slice(0, 40))}…`).toBe(0);
    },
    120_000,
  );
});

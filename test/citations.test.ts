// Holds the citations of the reference and of decisions: each has a heading or a record to go to, and nothing that users read cites the reference.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as ts from 'typescript/unstable/ast';
import { describe, expect, it } from 'vitest';
import { parseSource } from '../scripts/parse-source.ts';
import { citationsIn, headingsOf, misspeltIn } from './support/citations.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDERS = ['src', 'test', 'docs', 'migrations', 'bench', 'scripts', 'bin', 'examples', 'proto', 'web/src'];
/** Generated code, recordings of peers, and the examples of wrong citations. */
const EXEMPT = /^(?:src\/wire\/generated|test\/vectors|test\/support\/citations\.ts|test\/citations\.test\.ts)/;

const files = [
  'README.md',
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  ),
].filter((name) => /\.(?:tsx?|js|md|sql|ya?ml|proto)$/.test(name) && !EXEMPT.test(name));

const texts = new Map(files.map((name) => [name, readFileSync(join(ROOT, name), 'utf8')]));
const pages = new Map(
  readdirSync(join(ROOT, 'docs/reference'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => [name.replace(/\.md$/, ''), headingsOf(readFileSync(join(ROOT, 'docs/reference', name), 'utf8'))]),
);

describe('a citation of the reference', () => {
  it('names a heading', () => {
    expect([...texts.values()].flatMap((text) => citationsIn(text)).length).toBeGreaterThan(500);
    const wrong = [...texts].flatMap(([name, text]) =>
      citationsIn(text).flatMap((citation) =>
        pages.get(citation.page)?.has(citation.heading) === true
          ? []
          : [`${name}: ${citation.text}: docs/reference/${citation.page}.md has no heading ${citation.heading}`],
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('has one form', () => {
    const wrong = [...texts].flatMap(([name, text]) => misspeltIn(text).map((found) => `${name}: ${JSON.stringify(found)}`));
    expect(wrong).toEqual([]);
  });

  it('is in no text for users', () => {
    const wrong = [...texts].flatMap(([name, text]) => {
      if (!/^src\/.*\.ts$/.test(name) || name.endsWith('.test.ts') || citationsIn(text).length === 0) return [];
      return literalsOf(text).flatMap((literal) =>
        citationsIn(literal).map((citation) => `${name}: «${literal}» cites ${citation.text}: say the reason`),
      );
    });
    expect(wrong).toEqual([]);
  });

  it.each<[text: string, cited: readonly string[]]>([
    ['(kds-wire 5.2.5a)', ['kds-wire 5.2.5a']],
    ['policies 1.1, 1.4; the inverse of D24.', ['policies 1.1', 'policies 1.4', 'rulings D24']],
    ['rest-api 3 and 6.', ['rest-api 3', 'rest-api 6']],
    ['D17 to D19', ['rulings D17', 'rulings D19']],
    [
      'Policies 9.2 to 9.5, MADR 063, GEP-718 «API»',
      ['policies 9.2', 'policies 9.5', 'design-documents MADR 063', 'design-documents GEP-718'],
    ],
    ['engine 7: a Mesh', ['engine 7']],
    ['5,000 policies 10ms apart, docs/reference/kds-wire.md, 3D6, d2', []],
  ])('is found in %j', (text, cited) => {
    expect(citationsIn(text).map(({ page, heading }) => `${page} ${heading}`)).toEqual(cited);
  });

  it.each([
    'policies.md 5',
    'kds-wire 5.3, step 2',
    'kds-wire 5.2 rule 5a',
    'rest-api 1–4',
    'decisions D14',
    'D17–D19',
    '// what a zone sends (kds-wire\n// 5.4)',
  ])('is misspelt in %j', (text) => {
    expect(misspeltIn(text)).toHaveLength(1);
  });
});

describe('a citation of a decision', () => {
  it('names a record', () => {
    const records = new Set(readdirSync(join(ROOT, 'docs/decisions')).map((name) => Number(name.slice(0, 4))));
    const wrong = [...texts].flatMap(([name, text]) =>
      [...text.matchAll(/\bdecisions? (\d+(?:(?:, | and )\d+)*)/gi)]
        .flatMap(([, numbers = '']) => numbers.split(/, | and /).map(Number))
        .flatMap((number) => (records.has(number) ? [] : [`${name}: docs/decisions has no record ${String(number)}`])),
    );
    expect(wrong).toEqual([]);
  });
});

describe('the reference', () => {
  it('has one heading for each number', () => {
    const twice = [...pages.keys()].flatMap((page) => {
      const text = texts.get(`docs/reference/${page}.md`) ?? '';
      const numbers = [...text.matchAll(/^#{2,4} (\d[\w.]*|D\d+|MADR \d+|GEP-\d+)(?= |$)/gm)].map(([, number]) => number);
      return numbers.filter((number, at) => numbers.indexOf(number) !== at).map((number) => `${page} ${String(number)}`);
    });
    expect(twice).toEqual([]);
  });

  it('links to existing files, as all pages do', () => {
    const wrong = [...texts].flatMap(([name, text]) => {
      if (!name.endsWith('.md')) return [];
      const prose = text.replaceAll(/`[^`\n]+`/g, (code) => (code.includes('](') ? '' : code));
      return [...prose.matchAll(/\]\(((?!https?:)[^)#\s]+)(?:#[^)]*)?\)/g)].flatMap(([, path = '']) => {
        const target = join(ROOT, dirname(name), path);
        return existsSync(target) ? [] : [`${name}: ${path}`];
      });
    });
    expect(wrong).toEqual([]);
  });
});

/** The strings of a file, and the fixed parts of its templates. */
function literalsOf(text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLikeNode(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      found.push(node.text);
    node.forEachChild(visit);
  };
  visit(parseSource(text));
  return found;
}

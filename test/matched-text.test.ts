// Text for people is no protocol: the product decides by codes and fields, never by what a sentence says.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript/unstable/ast';
import { expect, it } from 'vitest';
import { parseSource } from '../scripts/parse-source.ts';

const SRC = join(import.meta.dirname, '../src');

/** File → whose text has no code. */
const ALLOWED: Readonly<Record<string, string>> = {
  'ads/refused-resources.ts': 'a NACK of an Envoy',
  'http/json-body.ts': 'the place of a fault in JSON, from V8',
  'kds/protocol/nack.ts': 'a NACK of a Kuma peer',
  'store/pg-errors.ts': 'an error of the driver pg',
};

/** Names of variables, fields and functions that hold or give a sentence. */
const TEXT = /^(?:message|details?|reason|title|sentence|said|warning|problem|messageOf)$/;
const SEARCHES = /^(?:startsWith|endsWith|includes|indexOf|lastIndexOf|match|matchAll|search|split)$/;

const isText = (node: ts.Expression | undefined): boolean => {
  if (node === undefined) return false;
  if (ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node)) return isText(node.expression);
  if (ts.isIdentifier(node)) return TEXT.test(node.text);
  if (ts.isPropertyAccessExpression(node)) return TEXT.test(node.name.text) || isText(node.expression);
  if (ts.isBinaryExpression(node)) return isText(node.left);
  if (!ts.isCallExpression(node)) return false;
  const isOfError = node.expression.getText() === 'String' && /error/i.test(node.arguments[0]?.getText() ?? '');
  return isOfError || isText(node.expression);
};

/** Lines are layout, and one word is an enum. */
const isSentence = (node: ts.Expression): boolean => ts.isStringLiteralLikeNode(node) && node.text.trim().includes(' ');
const isLineBreak = (node: ts.Expression | undefined): boolean =>
  node !== undefined && ts.isStringLiteralLikeNode(node) && node.text === '\n';

function isMatch(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) {
    const { left, right, operatorToken } = node;
    const isEquality = [ts.SyntaxKind.EqualsEqualsEqualsToken, ts.SyntaxKind.ExclamationEqualsEqualsToken].includes(
      operatorToken.kind,
    );
    return isEquality && ((isText(left) && isSentence(right)) || (isText(right) && isSentence(left)));
  }
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  const { name, expression: of } = node.expression;
  const [first] = node.arguments;
  if (/^(?:test|exec)$/.test(name.text)) return isText(first);
  if (/^replace/.test(name.text)) return isText(of) && first !== undefined && ts.isRegularExpressionLiteral(first);
  return SEARCHES.test(name.text) && isText(of) && !isLineBreak(first);
}

/** The expressions of a source that decide by a sentence. */
function matchesIn(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isMatch(node)) found.push(node.getText());
    node.forEachChild(visit);
  };
  visit(parseSource(source));
  return found;
}

const found = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\.test\.ts$|^wire\/generated/.test(file))
    .map((file) => [file, matchesIn(readFileSync(join(SRC, file), 'utf8'))] as const),
);

it('no file of the product matches prose, except for foreign errors without a code', () => {
  const wrong = [...found].flatMap(([file, matches]) =>
    file in ALLOWED ? [] : matches.map((match) => `${file}: ${match}: give the error a code or a field, and decide by that`),
  );
  expect(wrong).toEqual([]);
});

it('every listed exception matches prose', () => {
  expect(Object.keys(ALLOWED).filter((file) => (found.get(file) ?? []).length === 0)).toEqual([]);
});

it.each([
  `/mesh "([^"]+)" does not exist/.exec(error.message)`,
  `error.message.startsWith('must')`,
  `error.detail?.includes('exists')`,
  `reason.split(': ')`,
  `reason.replace(/documents\\[(\\d+)\\]/g, place)`,
  `PATTERN.test(messageOf(error))`,
  `messageOf(error).match(PATTERN)`,
  `(answer.title ?? '').toLowerCase().includes('mesh')`,
  `/position/.exec(String(error))`,
  `error.message === 'not found'`,
])('the search finds the match in %s', (source) => {
  expect(matchesIn(source)).not.toEqual([]);
});

it.each([
  `error.code === 'not_found'`,
  `reason === 'PartiallyReady'`,
  `reason === ''`,
  `error.message.split('\\n')`,
  `reason.replaceAll(related, () => place)`,
  `NAME.test(name)`,
])('the search finds no match in %s', (source) => {
  expect(matchesIn(source)).toEqual([]);
});

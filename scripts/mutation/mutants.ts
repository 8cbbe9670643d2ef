// The small changes of a source text that a test should notice. Pure: text in, changes out. A change of types or of a log line is none.
import * as ts from 'typescript/unstable/ast';
import { parseSource } from '../parse-source.ts';

/** A part of a file, and what stands there instead. Positions count UTF-16 units from 0. */
export type Mutant = { readonly start: number; readonly end: number; readonly replacement: string; readonly kind: string };

const { SyntaxKind } = ts;

/** Each operator, and what it becomes. */
const OPERATORS = new Map<ts.SyntaxKind, readonly [replacement: string, kind: string]>([
  [SyntaxKind.LessThanToken, ['<=', 'boundary']],
  [SyntaxKind.LessThanEqualsToken, ['<', 'boundary']],
  [SyntaxKind.GreaterThanToken, ['>=', 'boundary']],
  [SyntaxKind.GreaterThanEqualsToken, ['>', 'boundary']],
  [SyntaxKind.EqualsEqualsEqualsToken, ['!==', 'negation']],
  [SyntaxKind.ExclamationEqualsEqualsToken, ['===', 'negation']],
  [SyntaxKind.AmpersandAmpersandToken, ['||', 'logic']],
  [SyntaxKind.BarBarToken, ['&&', 'logic']],
  [SyntaxKind.PlusToken, ['-', 'arithmetic']],
  [SyntaxKind.MinusToken, ['+', 'arithmetic']],
  [SyntaxKind.AsteriskToken, ['/', 'arithmetic']],
  [SyntaxKind.SlashToken, ['*', 'arithmetic']],
  [SyntaxKind.PlusEqualsToken, ['-=', 'arithmetic']],
  [SyntaxKind.MinusEqualsToken, ['+=', 'arithmetic']],
]);

/** A call of such a method is left out: its receiver stands for it. */
const LEFT_OUT = new Set(['filter', 'sort', 'toSorted', 'reverse', 'slice', 'toLowerCase', 'trim', 'catch', 'finally', 'unref']);
/** A method becomes the other of its pair. */
const SWAPPED = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['startsWith', 'endsWith'],
]);
const LOGGER = /(?:^|[.#])(?:log|logger|stdout|stderr)(?:\?)?\.\w+$/i;

/** All changes of a TypeScript file, in the order of their places. Some do not compile: `TypeCheck` knows. */
export function mutantsOf(text: string): Mutant[] {
  const source = parseSource(text);
  const found: Mutant[] = [];
  const change = (kind: string, node: ts.Node, replacement: string): void => {
    const start = node.getStart(source);
    if (text.slice(start, node.end) !== replacement) found.push({ start, end: node.end, replacement, kind });
  };
  const visit = (node: ts.Node): void => {
    if (isLeftAlone(node, source)) return;
    if (ts.isBinaryExpression(node)) changeOperator(node, source, change);
    else if (ts.isPrefixUnaryExpression(node)) changePrefix(node, source, change);
    else if (ts.isNumericLiteral(node)) change('constant', node, otherNumber(Number(node.text)));
    else if (node.kind === SyntaxKind.TrueKeyword) change('constant', node, 'false');
    else if (node.kind === SyntaxKind.FalseKeyword) change('constant', node, 'true');
    else if (ts.isCallExpression(node)) changeCall(node, source, change);
    else if (ts.isConditionalExpression(node)) {
      change('branch', node, `(${node.whenTrue.getText(source)})`);
      change('branch', node, `(${node.whenFalse.getText(source)})`);
    } else if (ts.isArrayLiteralExpression(node) && node.elements.length > 0) change('list', node, '[]');
    else if (ts.isSpreadAssignment(node)) change('list', node, '...{}');
    else if (isRemovable(node, source)) change('statement', node, ';');
    if (ts.isExpressionStatement(node) && ts.isAwaitExpression(node.expression))
      change('await', node.expression, `void ${node.expression.expression.getText(source)}`);
    node.forEachChild(visit);
  };
  visit(source);
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

/** The text with the change in it. */
export function applyMutant(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** Where the innermost block or arrow body around a place begins and ends, to count who comes there; null at the top of a file. */
export function blockAround(text: string, place: number): { start: number; end: number; isBlock: boolean } | null {
  const source = parseSource(text);
  let found: { start: number; end: number; isBlock: boolean } | null = null;
  const visit = (node: ts.Node): void => {
    if (node.getStart(source) > place || node.end <= place) return;
    const isBody = ts.isArrowFunction(node.parent ?? node) && (node.parent as ts.ArrowFunction).body === node;
    if (ts.isBlock(node)) found = { start: node.getStart(source), end: node.end, isBlock: true };
    else if (isBody) found = { start: node.getStart(source), end: node.end, isBlock: false };
    node.forEachChild(visit);
  };
  visit(source);
  return found;
}

type Change = (kind: string, node: ts.Node, replacement: string) => void;

function isLeftAlone(node: ts.Node, source: ts.SourceFile): boolean {
  if (ts.isImportDeclaration(node) || ts.isTypeNode(node) || ts.isTypeAliasDeclaration(node)) return true;
  if (ts.isInterfaceDeclaration(node) || ts.isExportDeclaration(node)) return true;
  return ts.isCallExpression(node) && LOGGER.test(node.expression.getText(source));
}

function changeOperator({ operatorToken, left, right }: ts.BinaryExpression, source: ts.SourceFile, change: Change): void {
  const { parent } = operatorToken;
  if (operatorToken.kind === SyntaxKind.QuestionQuestionToken) {
    change('default', parent, left.getText(source));
    change('default', parent, right.getText(source));
  }
  const other = OPERATORS.get(operatorToken.kind);
  // A sum with a text in it is a text.
  const isText = [left, right].some((side) => ts.isStringLiteralLikeNode(side) || ts.isTemplateExpression(side));
  if (other !== undefined && !isText) change(other[1], operatorToken, other[0]);
  else if (other !== undefined && other[1] !== 'arithmetic') change(other[1], operatorToken, other[0]);
}

/** The next number, and half of a large one: nobody promises a limit or a time to the last unit. */
function otherNumber(value: number): string {
  return String(value < 100 ? value + 1 : Math.floor(value / 2));
}

function changePrefix({ operator, operand, parent }: ts.PrefixUnaryExpression, source: ts.SourceFile, change: Change): void {
  if (operator === SyntaxKind.ExclamationToken) change('negation', operand.parent, operand.getText(source));
  else if (operator === SyntaxKind.MinusToken && parent !== undefined)
    change('constant', operand.parent, operand.getText(source));
}

function changeCall(call: ts.CallExpression, source: ts.SourceFile, change: Change): void {
  if (!ts.isPropertyAccessExpression(call.expression)) return;
  const { name, expression } = call.expression;
  if (LEFT_OUT.has(name.text)) change('call', call, expression.getText(source));
  const other = SWAPPED.get(name.text);
  if (other !== undefined) change('call', name, other);
}

function isRemovable(node: ts.Node, source: ts.SourceFile): boolean {
  if (ts.isExpressionStatement(node)) {
    const called = ts.isCallExpression(node.expression) ? node.expression.expression : undefined;
    return called === undefined || !(LOGGER.test(called.getText(source)) || called.kind === SyntaxKind.SuperKeyword);
  }
  if (ts.isIfStatement(node)) return true;
  return ts.isContinueStatement(node) || ts.isBreakStatement(node);
}

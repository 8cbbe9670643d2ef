// HTTP headers in policies: their names, how requests are matched by them, how they are changed (policies 2.2, 2.5).
import { z } from 'zod';
import type { JsonObject } from '../resource/types.ts';
import type { Findings } from './findings.ts';
import { at, items } from '../resource/json-access.ts';
import { isObject } from '../resource/read-json.ts';
import { CHANGED_HEADER_NAME, HEADER_VALUE_FORM, isHeaderValue } from './header-text.ts';
import { isRe2, RE2_FORM } from './expressions/re2.ts';
import { choice, must, pattern } from './spec-fields.ts';
import { withRules } from './spec-rules.ts';
import { child } from '../resource/spec-path.ts';

const MAX_ITEMS = 16;
const WITHOUT_VALUE = new Set(['Present', 'Absent']);

/** Header names are compared in any case, so a changed header may be written in any. */
export const headerName = () =>
  pattern(/^[A-Za-z0-9!#$%&'*+\-.^_`|~]{1,256}$/, 'a header name of 1 to 256 characters, without blanks');

const changedHeaderName = () =>
  pattern(
    CHANGED_HEADER_NAME,
    'a header name of 1 to 256 characters, without blanks, and not host: a hostname is changed by a URLRewrite',
  );

const lowerCaseHeaderName = () =>
  pattern(/^[a-z0-9!#$%&'*+\-.^_`|~]{1,256}$/, 'a header name in lower case of 1 to 256 characters, without blanks');

const nameAndValue = z.object({
  name: changedHeaderName().describe('Name of the header, in any case.'),
  value: headerValue().describe('The text that the header gets.'),
});
const headersIn = () => z.array(nameAndValue).max(MAX_ITEMS);
const headerSets = {
  set: headersIn().describe('Headers that replace those of the same name. At most 16.').optional(),
  add: headersIn().describe('Headers that stand beside those of the same name. At most 16.').optional(),
};

function headerValue() {
  const what = must(HEADER_VALUE_FORM);
  return z.string(what).refine(isHeaderValue, what);
}

/** `{type, name, value}`; Present and Absent take no value. */
export const headerMatch = withRules(
  z.object({
    type: choice('Exact', 'Present', 'RegularExpression', 'Absent', 'Prefix')
      .describe('How the value of the header is compared, or whether the header is there at all.')
      .default('Exact'),
    name: lowerCaseHeaderName().describe('Name of the header, in lower case.'),
    value: z
      .string(must('text'))
      .describe('The value, its beginning, or a regular expression (RE2) of all of it. Not for Present and Absent.')
      .optional(),
  }),
  checkHeaderMatch,
);

/** `{set, add}`: headers to write or to append. */
export const headerAdditions = z.object(headerSets);

/** `{set, add, remove}`: at least one of them, no header twice. */
export const headerModifier = withRules(
  z.object({
    ...headerSets,
    remove: z.array(changedHeaderName()).max(MAX_ITEMS).describe('Names of headers that are taken away. At most 16.').optional(),
  }),
  checkHeaderModifier,
);

function checkHeaderMatch(match: JsonObject, path: string, findings: Findings): void {
  const type = match['type'] ?? 'Exact';
  const value = match['value'];
  if (typeof type !== 'string') return;
  if (WITHOUT_VALUE.has(type)) {
    if (value !== undefined && value !== '') findings.violation(child(path, 'value'), `must not be set with type ${type}`);
  } else if (type === 'RegularExpression' && typeof value === 'string') checkExpression(value, child(path, 'value'), findings);
  else if (value === undefined) findings.violation(child(path, 'value'), `must be given with type ${type.slice(0, 60)}`);
}

/** An expression that Envoy compares a text with. */
export function checkExpression(value: string, path: string, findings: Findings): void {
  if (value === '') findings.violation(path, 'must be text that is not empty');
  else if (!isRe2(value)) findings.violation(path, `must be ${RE2_FORM}`);
}

function checkHeaderModifier(modifier: JsonObject, path: string, findings: Findings): void {
  const lists = (['set', 'add', 'remove'] as const).map((key) => ({ key, list: items(modifier[key]) }));
  if (lists.every(({ list }) => list.length === 0)) findings.violation(path, 'must have at least one of set, add, remove');
  const seen = new Set<string>();
  for (const { key, list } of lists) {
    for (const [index, item] of list.entries()) {
      const name = isObject(item) ? at(item, 'name') : item;
      if (typeof name !== 'string') continue;
      const header = name.toLowerCase();
      const where = child(child(path, key), index);
      if (seen.has(header))
        findings.violation(
          key === 'remove' ? where : child(where, 'name'),
          'must not name a header that set, add or remove names already',
        );
      seen.add(header);
    }
  }
}

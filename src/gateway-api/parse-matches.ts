// `rules[].matches[]`: path, method, headers, query parameters, in the form that MeshHTTPRoute has them (policies 2.5).
// Invariant: the result is valid there: absolute paths, prefixes without a trailing slash, lower-case header names,
// regular expressions of RE2.
import type { WrittenMatch } from '../policies/routes.ts';
import type { Field } from './field.ts';
import { textForms } from './text-forms.ts';

const METHODS = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'] as const;
const PATH_TYPES = ['Exact', 'PathPrefix', 'RegularExpression'] as const;
const VALUE_TYPES = ['Exact', 'RegularExpression'] as const;
const EVERYTHING = { path: { type: 'PathPrefix', value: '/' } } as const satisfies WrittenMatch;

type Value = { type: (typeof VALUE_TYPES)[number]; name: string; value: string };

/** The matches of a rule, at least one: a rule without matches takes every request (Gateway API). */
export function parseMatches(rule: Field): WrittenMatch[] {
  const items = rule.at('matches').items();
  return items.length === 0 ? [EVERYTHING] : items.map(parseMatch);
}

function parseMatch(match: Field): WrittenMatch {
  if (!match.isGiven || !match.isObject()) return EVERYTHING;
  match.allowKeys(['path', 'method', 'headers', 'queryParams']);
  const method = match.at('method').choice(METHODS);
  const headers = parseValues(match.at('headers'), { isHeader: true });
  const queryParams = parseValues(match.at('queryParams'), { isHeader: false });
  return {
    path: parsePath(match.at('path')),
    ...(method !== undefined && { method }),
    ...(headers.length > 0 && { headers }),
    ...(queryParams.length > 0 && { queryParams }),
  };
}

/** Defaults: type PathPrefix, value `/`. `Prefix` is how v1alpha1 called PathPrefix. */
function parsePath(path: Field): NonNullable<WrittenMatch['path']> {
  if (!path.isGiven || !path.isObject()) return EVERYTHING.path;
  path.allowKeys(['type', 'value']);
  const given = path.at('type').isGiven ? path.at('type').choice([...PATH_TYPES, 'Prefix']) : 'PathPrefix';
  const form = given === 'RegularExpression' ? textForms.pathExpression : textForms.path;
  const value = path.at('value').isGiven ? path.at('value').requiredText(form) : '/';
  if (given === undefined || value === undefined) return EVERYTHING.path;
  if (given === 'Exact' || given === 'RegularExpression') return { type: given, value };
  return { type: 'PathPrefix', value: value.length > 1 && value.endsWith('/') ? value.slice(0, -1) : value };
}

/** Headers or query parameters. A second entry of a name would have no effect, so it is refused. */
function parseValues(list: Field, { isHeader }: { isHeader: boolean }): Value[] {
  const seen = new Set<string>();
  return list.items().flatMap((item) => {
    if (!item.isGiven) item.refuse('must be an object with name and value');
    if (!item.isGiven || !item.isObject()) return [];
    item.allowKeys(['type', 'name', 'value']);
    const type = item.at('type').isGiven ? item.at('type').choice(VALUE_TYPES) : 'Exact';
    const given = item.at('name').requiredText(isHeader ? textForms.headerName : textForms.parameterName);
    const value = item.at('value').requiredText(type === 'RegularExpression' ? textForms.valueExpression : textForms.value);
    if (type === undefined || given === undefined || value === undefined) return [];
    const name = isHeader ? given.toLowerCase() : given;
    if (seen.has(name)) item.at('name').refuse(`${JSON.stringify(name)} stands in this match already: keep one`);
    seen.add(name);
    return [{ type, name, value }];
  });
}

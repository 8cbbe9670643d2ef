import { describe, expect, it } from 'vitest';
import type { HttpMatch } from '../policies/routes.ts';
import type { JsonObject } from '../resource/types.ts';
import { compareMatches, routeMatches } from './route-match.ts';

type Path = NonNullable<HttpMatch['path']>;

const path = (type: Path['type'], value: string): HttpMatch => ({ path: { type, value } });

describe('the routes of a match', () => {
  it.each<[string, HttpMatch, { match: JsonObject; isBelowPrefix: boolean }[]]>([
    ['an exact path', path('Exact', '/a'), [{ match: { path: '/a' }, isBelowPrefix: false }]],
    [
      'a regular expression',
      path('RegularExpression', '/a+'),
      [{ match: { safeRegex: { regex: '/a+' } }, isBelowPrefix: false }],
    ],
    [
      'a prefix',
      path('PathPrefix', '/a'),
      [
        { match: { path: '/a' }, isBelowPrefix: false },
        { match: { prefix: '/a/' }, isBelowPrefix: true },
      ],
    ],
    ['the prefix of everything', path('PathPrefix', '/'), [{ match: { prefix: '/' }, isBelowPrefix: true }]],
    ['no path', {}, [{ match: { prefix: '/' }, isBelowPrefix: true }]],
    [
      'a method and a header',
      { method: 'GET', headers: [{ type: 'Exact', name: 'a', value: 'b' }] },
      [
        {
          match: {
            prefix: '/',
            headers: [
              { name: ':method', stringMatch: { exact: 'GET' } },
              { name: 'a', stringMatch: { exact: 'b' } },
            ],
          },
          isBelowPrefix: true,
        },
      ],
    ],
    [
      'a method',
      { method: 'GET' },
      [{ match: { prefix: '/', headers: [{ name: ':method', stringMatch: { exact: 'GET' } }] }, isBelowPrefix: true }],
    ],
    [
      'a parameter of the query',
      { queryParams: [{ type: 'Exact', name: 'a', value: 'b' }] },
      [{ match: { prefix: '/', queryParameters: [{ name: 'a', stringMatch: { exact: 'b' } }] }, isBelowPrefix: true }],
    ],
    [
      'parameters of the query',
      {
        queryParams: [
          { type: 'Exact', name: 'a', value: 'b' },
          { type: 'RegularExpression', name: 'c', value: 'd+' },
        ],
      },
      [
        {
          match: {
            prefix: '/',
            queryParameters: [
              { name: 'a', stringMatch: { exact: 'b' } },
              { name: 'c', stringMatch: { safeRegex: { regex: 'd+' } } },
            ],
          },
          isBelowPrefix: true,
        },
      ],
    ],
  ])('of %s', (_, match, expected) => {
    expect(routeMatches(match)).toEqual(expected);
  });
});

it('matches are asked from the most special to the one for everything, a method before any headers', () => {
  const header = { type: 'Exact' as const, name: 'a', value: 'b' };
  const sorted: HttpMatch[] = [
    { ...path('Exact', '/a'), headers: [header], method: 'GET' },
    { ...path('Exact', '/a'), method: 'GET', queryParams: [header] },
    { ...path('Exact', '/a'), method: 'GET' },
    { ...path('Exact', '/a'), headers: [header, header] },
    { ...path('Exact', '/a'), headers: [header] },
    { ...path('Exact', '/a'), queryParams: [header, header] },
    { ...path('Exact', '/a'), queryParams: [header] },
    path('Exact', '/a'),
    path('PathPrefix', '/abc'),
    path('PathPrefix', '/ab'),
    path('RegularExpression', '/a'),
    { ...path('PathPrefix', '/'), method: 'GET' },
    { queryParams: [header] },
    {},
  ];
  expect([...sorted].reverse().sort(compareMatches)).toEqual(sorted);
  expect(compareMatches(path('Exact', '/a'), path('Exact', '/longer'))).toBe(0);
  expect(compareMatches(path('RegularExpression', '/a'), path('RegularExpression', '/longer'))).toBe(0);
  expect(compareMatches(path('PathPrefix', '/'), {})).toBe(0);
});

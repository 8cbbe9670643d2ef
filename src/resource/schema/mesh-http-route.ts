// MeshHTTPRoute (policies 2.5): where requests to a service go, by path, method, headers and query.
import { isIP } from 'node:net';
import { z } from 'zod';
import type { Json, JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { checkExpression, headerMatch, headerModifier } from './header-match.ts';
import { at, items } from './json-access.ts';
import { isObject } from '../read-json.ts';
import { proxyRef, type PolicyDocument } from './policy-frame.ts';
import { checkRouteFrame, hostnamesAreEmpty, ROUTE_TO_KINDS } from './route-frame.ts';
import { isParameterName, PARAMETER_NAME_FORM } from './parameter-name.ts';
import { isRe2, RE2_FORM } from './re2.ts';
import { isDnsName } from './dns-name.ts';
import { idleFilters, MAX_CHANGED_HEADERS } from './route-filters.ts';
import { choice, flag, must, oneLine, percentage, port, text } from './spec-fields.ts';
import { needsObjectOfType, withRules } from './spec-rules.ts';
import { child } from './spec-path.ts';
import { backendRef, targetRef, weightsInRange } from './target-ref.ts';

const pathMatch = withRules(
  z.object({ type: choice('Exact', 'PathPrefix', 'RegularExpression'), value: text() }),
  (match, path, findings) => {
    const { type, value } = match;
    if (typeof value !== 'string') return;
    if (type === 'RegularExpression' && !isRe2(value)) findings.violation(child(path, 'value'), `must be ${RE2_FORM}`);
    if (type !== 'Exact' && type !== 'PathPrefix') return;
    if (!value.startsWith('/'))
      findings.violation(child(path, 'value'), `must be an absolute path with type ${type}: begin with "/"`);
    else if (type === 'PathPrefix' && value.length > 1 && value.endsWith('/'))
      findings.violation(child(path, 'value'), 'must not end with "/" with type PathPrefix');
  },
);

function parameterName() {
  return text().refine(isParameterName, must(PARAMETER_NAME_FORM));
}

const match = withRules(
  z.object({
    path: pathMatch.optional(),
    method: choice('CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE').optional(),
    headers: z.array(headerMatch).optional(),
    queryParams: z
      .array(z.object({ type: choice('Exact', 'RegularExpression'), name: parameterName(), value: z.string(must('text')) }))
      .optional(),
  }),
  (value, path, findings) => {
    const names = new Set<unknown>();
    for (const [index, param] of items(value['queryParams']).entries()) {
      const name = at(param, 'name');
      if (typeof name !== 'string') continue;
      if (names.has(name))
        findings.violation(`${path}.queryParams[${index}].name`, 'must not name a parameter that is named already');
      names.add(name);
      const pattern = at(param, 'value');
      if (at(param, 'type') === 'RegularExpression' && typeof pattern === 'string')
        checkExpression(pattern, `${path}.queryParams[${index}].value`, findings);
    }
  },
);

const hostname = () => {
  const what = must('a DNS name, not an IP address');
  return z.string(what).refine((given) => isIP(given) === 0 && isDnsName(given), what);
};

const pathRewrite = withRules(
  z.object({
    type: choice('ReplaceFullPath', 'ReplacePrefixMatch'),
    replaceFullPath: oneLine().optional(),
    replacePrefixMatch: oneLine().optional(),
  }),
  needsObjectOfType({ ReplaceFullPath: 'replaceFullPath', ReplacePrefixMatch: 'replacePrefixMatch' }),
);

const filter = withRules(
  z.object({
    type: choice('RequestHeaderModifier', 'ResponseHeaderModifier', 'RequestRedirect', 'URLRewrite', 'RequestMirror'),
    requestHeaderModifier: headerModifier.optional(),
    responseHeaderModifier: headerModifier.optional(),
    requestRedirect: z
      .object({
        scheme: choice('http', 'https').optional(),
        hostname: hostname().optional(),
        path: pathRewrite.optional(),
        port: port().optional(),
        statusCode: z.literal([301, 302, 303, 307, 308], must('one of 301, 302, 303, 307, 308')).default(302),
      })
      .optional(),
    urlRewrite: z
      .object({
        hostname: hostname().optional(),
        hostToBackendHostname: flag().describe('Sets the hostname of the backend. For routes of a MeshGateway.').optional(),
        path: pathRewrite.optional(),
      })
      .optional(),
    requestMirror: z.object({ percentage: percentage().optional(), backendRef: backendRef() }).optional(),
  }),
  needsObjectOfType({
    RequestHeaderModifier: 'requestHeaderModifier',
    ResponseHeaderModifier: 'responseHeaderModifier',
    RequestRedirect: 'requestRedirect',
    URLRewrite: 'urlRewrite',
    RequestMirror: 'requestMirror',
  }),
);

const backendFilter = withRules(
  z.object({
    type: choice('RequestHeaderModifier', 'ResponseHeaderModifier'),
    requestHeaderModifier: headerModifier.optional(),
    responseHeaderModifier: headerModifier.optional(),
  }),
  needsObjectOfType({ RequestHeaderModifier: 'requestHeaderModifier', ResponseHeaderModifier: 'responseHeaderModifier' }),
);

/** The backends of a rule. A mirror has no filters. */
const backends = () =>
  backendRef({
    filters: z
      .array(backendFilter)
      .describe('Changes of headers for the share of this backend, after those of the rule.')
      .optional(),
  });

const rule = withRules(
  z.object({
    matches: z.array(match).min(1),
    default: withRules(
      z.object({ filters: z.array(filter).optional(), backendRefs: z.array(backends()).optional() }),
      weightsInRange,
      headersInRange,
      (value, path, findings) => {
        for (const idle of idleFilters(items(value['filters'])))
          findings.warning(`${child(path, 'filters')}${idle.path}`, idle.reason);
      },
    ).optional(),
  }),
  prefixesForPrefixRewrite,
);

const item = z.object({
  targetRef: targetRef(...ROUTE_TO_KINDS),
  hostnames: z.array(z.string(must('text'))).optional(),
  rules: z.array(rule),
});

export const meshHTTPRouteSpec = z.object({ targetRef: proxyRef(), to: z.array(item).optional() });

export function checkMeshHTTPRoute(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkRouteFrame(spec, document, findings);
  hostnamesAreEmpty(spec, findings);
}

/** The modifiers of a rule are together on its routes, or with those of a backend on the share of the backend. */
function headersInRange(value: JsonObject, path: string, findings: Findings): void {
  const ofRule = items(value['filters']);
  modifiersInRange(ofRule, child(path, 'filters'), findings);
  for (const [index, ref] of items(value['backendRefs']).entries()) {
    const own = items(at(ref, 'filters'));
    if (own.length > 0) modifiersInRange([...ofRule, ...own], `${path}.backendRefs[${index}].filters`, findings);
  }
}

function modifiersInRange(filters: readonly Json[], path: string, findings: Findings): void {
  for (const key of ['requestHeaderModifier', 'responseHeaderModifier']) {
    const lists = filters.flatMap((one) => ['set', 'add', 'remove'].map((list) => items(at(one, `${key}.${list}`))));
    if (lists.reduce((sum, list) => sum + list.length, 0) > MAX_CHANGED_HEADERS)
      findings.violation(path, `must change at most ${MAX_CHANGED_HEADERS} headers by all ${key} together`);
  }
}

/** Only a prefix can be replaced where a prefix was matched. */
function prefixesForPrefixRewrite(value: JsonObject, path: string, findings: Findings): void {
  if (items(value['matches']).every((one) => at(one, 'path.type') === 'PathPrefix')) return;
  for (const [index, one] of items(at(value, 'default.filters')).entries()) {
    for (const key of ['requestRedirect', 'urlRewrite']) {
      const rewrite = at(one, `${key}.path`);
      if (isObject(rewrite) && rewrite['type'] === 'ReplacePrefixMatch')
        findings.violation(
          `${path}.default.filters[${index}].${key}.path.type`,
          'must not be ReplacePrefixMatch unless every match has a path of type PathPrefix',
        );
    }
  }
}

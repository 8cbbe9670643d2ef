// MeshHTTPRoute (policies 2.5): where requests to a service go, by path, method, headers and query.
import { isIP } from 'node:net';
import { z } from 'zod';
import type { Json, JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { checkExpression, headerMatch, headerModifier } from '../../schema/header-match.ts';
import { at, items } from '../../resource/json-access.ts';
import { isObject } from '../../resource/read-json.ts';
import { proxyRef, type PolicyDocument } from '../../schema/policy-frame.ts';
import { checkRouteFrame, hostnamesAreEmpty, ROUTE_TO_KINDS, ROUTED_SERVICE, ROUTED_TO } from '../../schema/route-frame.ts';
import { isParameterName, PARAMETER_NAME_FORM } from '../../schema/parameter-name.ts';
import { isRe2, RE2_FORM } from '../../schema/expressions/re2.ts';
import { isDnsName } from '../../resource/dns-name.ts';
import { idleFilters, MAX_CHANGED_HEADERS } from '../../schema/route-filters.ts';
import { choice, flag, must, oneLine, percentage, port, text } from '../../schema/spec-fields.ts';
import { needsObjectOfType, withRules } from '../../schema/spec-rules.ts';
import { child } from '../../resource/spec-path.ts';
import { backendRef, targetRef, weightsInRange } from '../../schema/target-ref.ts';

const pathMatch = withRules(
  z.object({
    type: choice('Exact', 'PathPrefix', 'RegularExpression').describe(
      'How value is compared: with the whole path, with its first segments, or as a regular expression (RE2) of all of it.',
    ),
    value: text().describe(
      'A path that begins with "/", or a regular expression. A prefix /a is also that of /a/b, and not of /ab.',
    ),
  }),
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
    path: pathMatch.describe('The path of the request, without its query.').optional(),
    method: choice('CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE')
      .describe('The method that the request must have. Any if not set.')
      .optional(),
    headers: z.array(headerMatch).describe('Headers of the request; all must match.').optional(),
    queryParams: z
      .array(
        z.object({
          type: choice('Exact', 'RegularExpression').describe(
            'Whether value is the text or a regular expression (RE2) of all of it.',
          ),
          name: parameterName().describe('Name of the parameter. Each is named once.'),
          value: z.string(must('text')).describe('The text or the regular expression.'),
        }),
      )
      .describe('Parameters of the query; all must match.')
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
    type: choice('ReplaceFullPath', 'ReplacePrefixMatch').describe(
      'Whether the whole path is replaced or the prefix that matched. The latter needs matches of type PathPrefix alone.',
    ),
    replaceFullPath: oneLine().describe('The new path. For type ReplaceFullPath.').optional(),
    replacePrefixMatch: oneLine().describe('What stands in place of the prefix. For type ReplacePrefixMatch.').optional(),
  }),
  needsObjectOfType({ ReplaceFullPath: 'replaceFullPath', ReplacePrefixMatch: 'replacePrefixMatch' }),
).describe('The path after the change. As it was if not set.');

const ofRequest = () => headerModifier.describe('Headers of the request that change. For type RequestHeaderModifier.').optional();
const ofResponse = () =>
  headerModifier.describe('Headers of the answer that change. For type ResponseHeaderModifier.').optional();

const filter = withRules(
  z.object({
    type: choice('RequestHeaderModifier', 'ResponseHeaderModifier', 'RequestRedirect', 'URLRewrite', 'RequestMirror').describe(
      'What the filter does. The field of that name says how.',
    ),
    requestHeaderModifier: ofRequest(),
    responseHeaderModifier: ofResponse(),
    requestRedirect: z
      .object({
        scheme: choice('http', 'https').describe('Scheme of the new URL. That of the request if not set.').optional(),
        hostname: hostname().describe('Host of the new URL. That of the request if not set.').optional(),
        path: pathRewrite.optional(),
        port: port().describe('Port of the new URL. That of the request if not set.').optional(),
        statusCode: z
          .literal([301, 302, 303, 307, 308], must('one of 301, 302, 303, 307, 308'))
          .describe('Status of the answer.')
          .default(302),
      })
      .describe('Answers with another URL, to which the client turns. For type RequestRedirect.')
      .optional(),
    urlRewrite: z
      .object({
        hostname: hostname().describe('The host that the backend sees. As it was if not set.').optional(),
        hostToBackendHostname: flag().describe('Sets the hostname of the backend. For routes of a MeshGateway.').optional(),
        path: pathRewrite.optional(),
      })
      .describe('Changes host and path of the request. For type URLRewrite.')
      .optional(),
    requestMirror: z
      .object({
        percentage: percentage().describe('Share of the requests that are copied, in percent. 100 if not set.').optional(),
        backendRef: backendRef({}).describe('The service that gets the copies.'),
      })
      .describe('Sends copies of requests to another service, whose answers are dropped. For type RequestMirror.')
      .optional(),
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
    type: choice('RequestHeaderModifier', 'ResponseHeaderModifier').describe(
      'Whether headers of the request or of the answer change.',
    ),
    requestHeaderModifier: ofRequest(),
    responseHeaderModifier: ofResponse(),
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

/** One of the rules of an item. */
export const meshHTTPRouteRule = withRules(
  z.object({
    matches: z.array(match).min(1).describe('The requests of the rule: those that one of these fits.'),
    default: withRules(
      z.object({
        filters: z.array(filter).describe('Changes of requests and answers.').optional(),
        backendRefs: z
          .array(backends())
          .describe('Where the requests go, shared by weight. To the service of the item if not set.')
          .optional(),
      }),
      weightsInRange,
      headersInRange,
      (value, path, findings) => {
        for (const idle of idleFilters(items(value['filters'])))
          findings.warning(`${child(path, 'filters')}${idle.path}`, idle.reason);
      },
    )
      .describe('What is done with these requests.')
      .optional(),
  }),
  prefixesForPrefixRewrite,
);

const item = z.object({
  targetRef: targetRef(...ROUTE_TO_KINDS).describe(ROUTED_SERVICE),
  hostnames: z
    .array(z.string(must('text')))
    .describe('Must be empty: requests to a service have its hostname.')
    .optional(),
  rules: z
    .array(meshHTTPRouteRule)
    .describe(
      'Where requests go. An exact path comes before a prefix, a longer prefix before a shorter one. Others go to the service.',
    ),
});

export const meshHTTPRouteSpec = z.object({
  targetRef: proxyRef(),
  to: z.array(item).describe(ROUTED_TO).optional(),
});

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

// `spec.rules`: an HTTPRoute's have matches, filters and timeouts; a TCPRoute's have only backends.
// Invariant: every field of a rule maps to MeshHTTPRoute, MeshTCPRoute or MeshTimeout, or is refused by name.
import { isObject } from '../resource/read-json.ts';
import { parseGatewayDuration } from './durations.ts';
import type { Field } from './field.ts';
import type { RouteRule } from './gateway-route.ts';
import { parseBackends } from './parse-backends.ts';
import { parseFilters } from './parse-filters.ts';
import { parseMatches } from './parse-matches.ts';
import { textForms } from './text-forms.ts';

const NOTHING: RouteRule = {
  ...{ name: undefined, matches: [], filters: [], backends: [], requestTimeout: undefined, violations: [] },
};
const NO_HOME = {
  retry: 'is not supported in a MeshHTTPRoute: write a MeshRetry with to[].targetRef {kind: MeshHTTPRoute, name: <this route>}',
  sessionPersistence:
    'is not supported in a MeshHTTPRoute: write a MeshLoadBalancingStrategy with hashPolicies and to[].targetRef {kind: MeshHTTPRoute, name: <this route>}',
};
const NO_BACKEND_REQUEST =
  'is not supported in a MeshTimeout: write request, or a MeshRetry with http.perTryTimeout and to[].targetRef {kind: MeshHTTPRoute, name: <this route>}';

/** The rules of an HTTPRoute, at least one. */
export function parseHttpRules(spec: Field, namespace: string | undefined): RouteRule[] {
  return rulesOf(spec).map((rule) => {
    if (!isObject(rule.value)) return NOTHING;
    rule.allowKeys(['name', 'matches', 'filters', 'backendRefs', 'forwardTo', 'timeouts'], NO_HOME);
    const name = rule.at('name').text(textForms.name);
    const matches = parseMatches(rule);
    const filters = parseFilters(rule, matches, namespace);
    const backends = parseBackends(rule, namespace, { filters: true });
    checkBackends(rule);
    return { ...NOTHING, name, matches, filters, backends, requestTimeout: parseTimeouts(rule) };
  });
}

/** The only rule of a TCPRoute: a MeshTCPRoute can hold one (policies 2.5, D25). */
export function parseTcpRules(spec: Field, namespace: string | undefined): RouteRule[] {
  const rules = rulesOf(spec);
  if (rules.length > 1)
    spec
      .at('rules')
      .refuse(`must have one rule, not ${String(rules.length)}: a MeshTCPRoute has no more; put all backends into one`);
  return rules.map((rule) => {
    if (!isObject(rule.value)) return NOTHING;
    rule.allowKeys(['name', 'backendRefs', 'forwardTo']);
    const backends = parseBackends(rule, namespace, { filters: false });
    checkBackends(rule);
    return { ...NOTHING, name: rule.at('name').text(textForms.name), backends };
  });
}

/** All rules, so that each keeps its place. A rule that is no object is refused. */
function rulesOf(spec: Field): Field[] {
  const field = spec.at('rules');
  const rules = field.items();
  if (!field.isGiven || field.isEmptyList) field.refuse('must have at least one rule');
  for (const rule of rules) {
    if (!rule.isGiven) rule.refuse('must be an object');
    rule.isObject();
  }
  const names = new Map<string, string>();
  for (const name of rules.map((rule) => rule.at('name')).filter((field) => field.isGiven)) {
    const other = names.get(name.shown);
    if (other !== undefined) name.refuse(`is the name of ${other} already: names of rules are unique`);
    names.set(name.shown, name.path.replace(/\.name$/, ''));
  }
  return rules;
}

/** Every rule except a redirect must have backends (D25). */
function checkBackends(rule: Field): void {
  const key = rule.at('forwardTo').isGiven && !rule.at('backendRefs').isGiven ? 'forwardTo' : 'backendRefs';
  const list = rule.at(key);
  const isEmpty = !list.isGiven || list.isEmptyList;
  const redirect = rule
    .at('filters')
    .quiet()
    .items()
    .find((filter) => filter.at('type').shown === '"RequestRedirect"');
  if (redirect === undefined && isEmpty)
    list.refuse(
      'must be given unless a RequestRedirect answers: name the service that gets the requests, even if it is the parent',
    );
  if (redirect !== undefined && !isEmpty)
    list.refuse(`stands beside the redirect ${redirect.path}, which forwards nothing: keep one of them`);
}

function parseTimeouts(rule: Field): number | undefined {
  const timeouts = rule.at('timeouts');
  if (!timeouts.isGiven || !timeouts.isObject()) return undefined;
  timeouts.allowKeys(['request'], { backendRequest: NO_BACKEND_REQUEST });
  const request = timeouts.at('request');
  const text = request.text();
  if (text === undefined) return undefined;
  const milliseconds = parseGatewayDuration(text);
  return milliseconds ?? request.refuse(`must be a duration like 10s, 1m30s or 500ms, not ${request.shown}`);
}

// The parts that all targetRef policies share: the sections, the top-level kinds, and which policies may use them (policies 1.2, 4;
// MADR 063).
import { z } from 'zod';
import type { PolicyRole } from '../resource/policy-role.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Findings } from './findings.ts';
import { at, isSet, items } from '../resource/json-access.ts';
import { isObject, textOf } from '../resource/read-json.ts';
import { atLeastOne, refuses, warnsOf, withRules, type Rule } from './spec-rules.ts';
import { child } from '../resource/spec-path.ts';
import { PROXY_KINDS, ROUTE_KINDS, targetRef, type Kinds } from './target-ref.ts';

export type Section = 'to' | 'from' | 'rules';

/** The input of a check besides the spec; the role is null when `to[]` mixes producer and consumer items. */
export type PolicyDocument = { readonly type: string; readonly role: PolicyRole | null };

/** The violation for a top-level Mesh*Route where `to[]` takes it (MADR 063). */
export const ROUTE_ADVICE = 'put the route in to[].targetRef';

/** The rules of one policy type about its sections. */
export type Frame = {
  /** At least one of these must have items. */
  readonly oneOf?: readonly [Section, ...Section[]];
  /** Sections that must be empty when `rules` has items. */
  readonly besideRules?: readonly Section[];
  /** The roles whose policies may have MeshGateway at the top. The default is all roles. */
  readonly gateway?: 'system' | 'none';
  /** Below a route at the top, `to[]` takes these kinds alone. */
  readonly toBelowRoute?: Kinds;
  /** The advice where a route at the top belongs. Without it no route may stand there. */
  readonly routeAdvice?: string;
};

/**
 * A route that `to[]` may name: the conf that cannot apply to it, field by field, and what can. Conf that Kuma control planes take
 * is a warning, other conf is a violation.
 */
export type RouteLimits = Readonly<
  Record<
    (typeof ROUTE_KINDS)[number],
    { readonly refused?: readonly string[]; readonly ignored?: readonly string[]; readonly allowed: string }
  >
>;

const SUBSETS = new Set<unknown>(['MeshSubset', 'MeshService', 'MeshServiceSubset']);
const ROUTES = new Set<unknown>(ROUTE_KINDS);

/** The top-level targetRef; without it the policy is for the whole mesh. */
export const topRef = <const K extends Kinds>(...kinds: K) =>
  targetRef(...kinds)
    .optional()
    .describe('The proxies that the policy configures; without it all of the mesh.');
export const proxyRef = () => topRef(...PROXY_KINDS, 'MeshGateway');
export const proxyOrRouteRef = () => topRef(...PROXY_KINDS, 'MeshGateway', ...ROUTE_KINDS);

/** `to[]`: outbounds by their destination. */
export function toItems<const K extends Kinds, C extends z.ZodType>(kinds: K, conf: C, ...rules: readonly Rule[]) {
  return z
    .array(
      withRules(
        z.object({
          targetRef: targetRef(...kinds).describe('What the outbounds lead to.'),
          default: conf,
        }),
        ...rules,
      ),
    )
    .describe('Conf of outbounds, by destination.')
    .optional();
}

/** `from[]`: clients, the old form of `rules[]`. */
export function fromItems<const K extends Kinds, C extends z.ZodType>(kinds: K, conf: C) {
  return z
    .array(z.object({ targetRef: targetRef(...kinds).describe('The clients.'), default: conf }))
    .describe('Conf of inbounds, by client. Deprecated: use rules.')
    .optional();
}

/** `rules[]`: inbounds, each for the requests that one of its matches fits. */
export function ruleItems<M extends z.ZodType, C extends z.ZodType>(match: M, conf: C, ...rules: readonly Rule[]) {
  return z
    .array(
      withRules(
        z.object({
          matches: z.array(match).describe('The requests. Without it all of them.').optional(),
          default: conf,
        }),
        ...rules,
      ),
    )
    .describe('Conf of inbounds, by request.')
    .optional();
}

/** A rule for items of `to[]`: refuses conf that the named route cannot have, or warns of it. */
export function routeLimits(limits: RouteLimits): Rule {
  const rules = ROUTE_KINDS.flatMap((kind) => {
    const { refused = [], ignored = [], allowed } = limits[kind];
    return [
      { kind, rule: refuses(refused, `must not be set for a ${kind}: a route can have ${allowed}`) },
      { kind, rule: warnsOf(ignored, `has no effect for a ${kind}: a route can have ${allowed}`) },
    ];
  });
  return (item, path, findings) => {
    const conf = item['default'];
    for (const { kind, rule } of rules)
      if (isObject(conf) && at(item, 'targetRef.kind') === kind) rule(conf, child(path, 'default'), findings);
  };
}

/** Whether the top-level reference can select gateways (policies 1.2). */
export function selectsGateways(spec: JsonObject): boolean {
  const kind = at(spec, 'targetRef.kind') ?? 'Mesh';
  if (kind === 'MeshGateway' || ROUTES.has(kind)) return true;
  const types = at(spec, 'targetRef.proxyTypes');
  return (kind === 'Mesh' || kind === 'MeshSubset') && (!Array.isArray(types) || types.includes('Gateway'));
}

/** Checks the sections and the top-level reference of a policy. */
export function checkFrame(frame: Frame, spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  const has = (section: Section): boolean => items(spec[section]).length > 0;
  const { role, type } = document;
  if (role === null)
    findings.violation('spec.to', 'must not mix producer items (this namespace, by name) and consumer items: make two policies');
  if (role !== 'system' && has('to') && has('from'))
    findings.violation('spec.from', 'must not stand beside to in a policy with a namespace');
  if (frame.oneOf?.some(has) === false) atLeastOne(...frame.oneOf)({}, 'spec', findings);
  const besideRules = has('rules') ? (frame.besideRules ?? []).filter(has) : [];
  if (besideRules.length > 0)
    findings.violation('spec.rules', `must not stand beside ${besideRules.join(' and ')}: make two policies`);
  if (has('from'))
    findings.warning('spec.from', `is deprecated: use rules${type === 'MeshTrafficPermission' ? ' with SPIFFE IDs' : ''}`);
  checkTop(frame, spec, role, findings);
  const kind = at(spec, 'targetRef.kind');
  // Below a MeshGateway any kind may stand: it selects nothing, which is a warning.
  const kinds = ROUTES.has(kind) ? frame.toBelowRoute : undefined;
  for (const [index, item] of items(kinds === undefined ? [] : spec['to']).entries()) {
    const given = at(item, 'targetRef.kind');
    if (given !== undefined && kinds?.includes(textOf(given)) === false)
      findings.violation(
        `spec.to[${index}].targetRef.kind`,
        `must be one of ${kinds.join(', ')} below a top-level ${textOf(kind)}`,
      );
  }
}

/** The check of a policy that has one conf for the whole proxy. */
export function checkProxyPolicy(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({}, spec, document, findings);
}

function checkTop(frame: Frame, spec: JsonObject, role: PolicyRole | null, findings: Findings): void {
  const path = 'spec.targetRef.kind';
  const kind = at(spec, 'targetRef.kind');
  const whose = role ?? 'namespaced';
  if (kind === 'Mesh' && isSet(at(spec, 'targetRef.proxyTypes')))
    findings.warning(
      'spec.targetRef.proxyTypes',
      'takes effect in Meridian zones alone: a Kuma zone applies the policy to every proxy; use Dataplane with labels',
    );
  if (SUBSETS.has(kind)) findings.warning(path, `${textOf(kind)} is deprecated at the top level: use Dataplane with labels`);
  const advice = frame.routeAdvice;
  if (ROUTES.has(kind) && advice !== undefined) {
    if (role === 'system') findings.warning(path, `${textOf(kind)} is deprecated at the top level: ${advice}`);
    else findings.violation(path, `must not be ${textOf(kind)} in a ${whose} policy: ${advice}`);
  }
  if (kind === 'MeshGateway' && frame.gateway !== 'none') {
    if (role === 'system' || frame.gateway !== 'system')
      findings.warning(path, 'MeshGateway selects nothing here: there are no built-in gateways');
    else findings.violation(path, `must not be MeshGateway in a ${whose} policy`);
  }
  const isInbound = items(spec['from']).length > 0 || items(spec['rules']).length > 0;
  if (kind === 'Dataplane' && isSet(at(spec, 'targetRef.sectionName')) && !isInbound)
    findings.violation('spec.targetRef.sectionName', 'must not be set without rules: only rules are about one inbound');
}

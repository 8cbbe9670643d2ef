// Checks one conf of a policy by the schema of the item that holds it, No PUT has checked such a conf: it comes from a peer, or
// is merged.
import { z } from 'zod';
import { collectViolations, type Violation } from '../base/violations.ts';
import type { JsonObject } from '../resource/types.ts';
import { cleanSpec } from '../schema/clean-spec.ts';
import { Findings } from '../schema/findings.ts';
import { addSchemaViolations } from '../schema/schema-violations.ts';
import { meshHTTPRouteRule } from '../policies/mesh-http-route/spec.ts';
import { meshTCPRouteRule } from '../policies/mesh-tcp-route/spec.ts';
import type { RouteKind } from '../policies/routes.ts';
import { specDefinitions } from './schemas.ts';
import { applyRules, without } from '../schema/spec-rules.ts';

/** The section of a policy that a conf comes from. */
export type ConfSection = 'to' | 'rules' | 'from' | 'default';

/** An item of a section without its targetRef, or a rule of a route: `{default}`, and `{matches}` where it has some. */
export type ConfItem = JsonObject;

const RULES = { MeshHTTPRoute: meshHTTPRouteRule, MeshTCPRoute: meshTCPRouteRule } as const satisfies Record<
  RouteKind,
  z.ZodObject
>;

const itemSchemas = new Map<string, z.ZodObject>();

/**
 * The violations of an item, with paths from it (`default.http.requestTimeout`). Rules about the named destination or about the whole policy do
 * not apply, and unknown keys are left alone.
 * @throws Error when the type has no such section
 */
export function checkConfItem(type: string, section: ConfSection, item: ConfItem): Violation[] {
  return violationsOf(itemSchemaOf(type, section), item);
}

/** The violations of one rule of a route, with paths from it (`matches[0].path.value`). */
export function checkRouteRule(type: RouteKind, rule: ConfItem): Violation[] {
  return violationsOf(RULES[type], rule);
}

function violationsOf(schema: z.ZodObject, item: ConfItem): Violation[] {
  return collectViolations((refuse) => {
    const findings = new Findings((field, reason) => refuse(field.replace(/^spec\.?/, ''), reason));
    const clean = cleanSpec(item, findings);
    addSchemaViolations(schema, clean, findings);
    applyRules(schema, clean, findings, () => undefined);
  });
}

function itemSchemaOf(type: string, section: ConfSection): z.ZodObject {
  const key = `${type} ${section}`;
  let schema = itemSchemas.get(key);
  if (schema === undefined) itemSchemas.set(key, (schema = readItemSchema(type, section)));
  return schema;
}

function readItemSchema(type: string, section: ConfSection): z.ZodObject {
  const spec = specDefinitions.get(type)?.schema;
  const part = spec instanceof z.ZodObject ? (spec.shape[section] as z.ZodType | undefined) : undefined;
  if (part !== undefined && section === 'default') return z.object({ default: part });
  const list = part instanceof z.ZodOptional ? part.unwrap() : part;
  const item = list instanceof z.ZodArray ? list.element : undefined;
  if (!(item instanceof z.ZodObject)) throw new Error(`${type} has no confs in ${section}`);
  return without(item, 'targetRef');
}

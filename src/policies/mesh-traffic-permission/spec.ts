// MeshTrafficPermission (policies 2.6, D23): which clients a proxy answers.
import { z } from 'zod';
import type { JsonObject } from '../../resource/types.ts';
import type { Findings } from '../../schema/findings.ts';
import { inboundMatch } from '../../schema/inbound-match.ts';
import { isObject } from '../../resource/read-json.ts';
import { at, items } from '../../resource/json-access.ts';
import { checkFrame, fromItems, ruleItems, topRef, type PolicyDocument } from '../../schema/policy-frame.ts';
import { choice } from '../../schema/spec-fields.ts';
import { child } from '../../resource/spec-path.ts';
import { withRules } from '../../schema/spec-rules.ts';
import { PROXY_KINDS } from '../../schema/target-ref.ts';

/** The lists that permit the clients that they name. */
export const PERMITTING_LISTS = ['allow', 'allowWithShadowDeny'] as const;
/** The lists of clients. */
export const CLIENT_LISTS = ['allow', 'deny', 'allowWithShadowDeny'] as const;
export type ClientList = (typeof CLIENT_LISTS)[number];
const clients = (about: string) => z.array(inboundMatch).describe(about).optional();

const conf = withRules(
  z.object({
    allow: clients('Clients that get an answer. All that no list names are refused.'),
    deny: clients('Clients that are refused, also if another list or policy allows them.'),
    allowWithShadowDeny: clients('Clients that get an answer, counted by the proxy as if they were refused.'),
  }),
  (value, path, findings) => {
    if (CLIENT_LISTS.every((key) => items(value[key]).length === 0))
      findings.violation(path, `must have at least one item in ${CLIENT_LISTS.join(', ')}`);
    for (const key of CLIENT_LISTS) {
      const effect = key === 'deny' ? 'denies every client' : 'permits no client';
      for (const [index, match] of items(value[key]).entries())
        if (isObject(match) && Object.keys(match).length === 0)
          findings.warning(`${child(path, key)}[${index}]`, `without spiffeID and sni it ${effect}`);
    }
  },
).describe('Which clients the proxy answers.');
const action = z
  .object({
    action: choice('Allow', 'Deny', 'AllowWithShadowDeny').describe(
      'Whether the clients get an answer. With AllowWithShadowDeny they do, and are counted as refused.',
    ),
  })
  .describe('What is done with these clients.');

export const meshTrafficPermissionSpec = z.object({
  targetRef: topRef(...PROXY_KINDS),
  from: fromItems(['Mesh', 'MeshSubset', 'MeshService', 'MeshServiceSubset'], action),
  rules: ruleItems(inboundMatch, conf),
});

export function checkMeshTrafficPermission(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ oneOf: ['rules', 'from'], besideRules: ['from'], gateway: 'none' }, spec, document, findings);
  for (const [index, item] of items(spec['from']).entries()) {
    if (at(item, 'targetRef.kind') === 'MeshService')
      findings.warning(`spec.from[${index}].targetRef.kind`, 'MeshService is deprecated here: use rules with SPIFFE IDs');
  }
}

// Policies whose conf is kept as it is given: MeshTLS, MeshPassthrough, MeshTrace, MeshMetric, MeshProxyPatch.
// Their sections and references are checked, what is below `default` is not.
import { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { checkFrame, fromItems, proxyRef, type PolicyDocument } from './policy-frame.ts';
import { anything } from './spec-fields.ts';

const objects = () => z.array(anything()).optional();

export const meshTLSSpec = z.object({
  targetRef: proxyRef(),
  from: fromItems(['Mesh'], anything()),
  rules: z.array(z.object({ default: anything() })).optional(),
});

/** One conf for the whole proxy. */
const proxySpec = <C extends z.ZodType>(conf: C) => z.object({ targetRef: proxyRef(), default: conf });

export const meshPassthroughSpec = proxySpec(z.looseObject({ appendMatch: objects() }).optional());
export const meshTraceSpec = proxySpec(z.looseObject({ backends: objects(), tags: objects() }).optional());
export const meshMetricSpec = proxySpec(z.looseObject({ backends: objects(), applications: objects() }).optional());
export const meshProxyPatchSpec = proxySpec(z.looseObject({ appendModifications: objects() }));

export type MeshTLSSpec = z.infer<typeof meshTLSSpec>;
export type MeshPassthroughSpec = z.infer<typeof meshPassthroughSpec>;
export type MeshTraceSpec = z.infer<typeof meshTraceSpec>;
export type MeshMetricSpec = z.infer<typeof meshMetricSpec>;
export type MeshProxyPatchSpec = z.infer<typeof meshProxyPatchSpec>;

export function checkMeshTLS(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({ besideRules: ['from'] }, spec, document, findings);
}

export function checkProxyPolicy(spec: JsonObject, document: PolicyDocument, findings: Findings): void {
  checkFrame({}, spec, document, findings);
}

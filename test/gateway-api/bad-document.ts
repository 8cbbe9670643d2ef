// Documents with one violation, and the check that it is the only one reported.
import { expect } from 'vitest';
import { parse } from 'yaml';
import { parseRoute } from '../../src/gateway-api/parse-route.ts';

/** The path of the only rule of `rule`, `backend` and `forwardTo`. */
export const R = 'spec.rules[0]';

/** A route with these rules, all given as YAML. */
export function httpRoute(rules: string, { spec = '', kind = 'HTTPRoute', version = 'v1' } = {}): unknown {
  return parse(`
apiVersion: gateway.networking.k8s.io/${version}
kind: ${kind}
metadata: {name: r, namespace: shop}
spec: {parentRefs: [{kind: Service, name: cart}], ${spec === '' ? '' : `${spec}, `}rules: ${rules}}
`) as unknown;
}

/** A route with one rule with a backend and these fields. */
export function rule(text: string): unknown {
  return httpRoute(`[{${text}, backendRefs: [{name: cart, port: 80}]}]`);
}

export function backend(text: string): unknown {
  return httpRoute(`[{backendRefs: [${text}]}]`);
}

/** A backend in the spelling of GEP-718. */
export function forwardTo(text: string): unknown {
  return httpRoute(`[{forwardTo: [${text}]}]`, { version: 'v1alpha1' });
}

/** Checks that each violation starts as expected, in any order, and that there is no other. */
export function expectViolations(document: unknown, expected: readonly string[]): void {
  const parsed = parseRoute(document);
  const violations = 'violations' in parsed ? parsed.violations.map(({ field, reason }) => `${field}: ${reason}`) : [];
  const named = violations.map((text) => expected.find((start) => text.startsWith(start)) ?? text);
  expect(named.toSorted()).toEqual([...expected].toSorted());
}

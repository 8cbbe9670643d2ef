// The match of a header in a policy as a HeaderMatcher of Envoy (xds 3.2).
import type { Json, JsonObject } from '../resource/types.ts';

type WrittenMatch = { readonly type?: Json; readonly name?: Json; readonly value?: Json | undefined };

/** `{type, name, value}` of a policy as a HeaderMatcher. */
export function headerMatcher({ type, name = '', value = '' }: WrittenMatch | JsonObject): JsonObject {
  switch (type) {
    case 'Present':
      return { name, presentMatch: true };
    case 'Absent':
      return { name, presentMatch: false };
    case 'Prefix':
      // Every value begins with the empty prefix, which Envoy does not take.
      return value === '' ? { name, presentMatch: true } : { name, stringMatch: { prefix: value } };
    case 'RegularExpression':
      return { name, stringMatch: { safeRegex: { regex: value } } };
    default:
      return { name, stringMatch: { exact: value } };
  }
}

// The operators of CEL, and the functions that Envoy 1.40 knows: it was asked for each (xds 3.3). Pure.

/** Operators from the weakest to the strongest. */
export const OPERATORS = ['||', '&&', '< <= >= > == != in', '+ -', '* / %'].map((level) => new Set(level.split(' ')));
/** The number of them that Envoy balances: a chain of these is one level. */
export const BALANCED = 2;

/** Numbers of arguments by the name of the function. Envoy has `string()` switched off, and no macro over lists. */
export type Functions = ReadonlyMap<string, readonly number[]>;
const functions = (...groups: readonly (readonly [names: string, ...counts: number[]])[]): Functions =>
  new Map(groups.flatMap(([names, ...counts]) => names.split(' ').map((name) => [name, counts] as const)));
export const GLOBAL = functions(
  ['has size int uint double bytes bool timestamp duration type dyn', 1],
  ['matches startsWith endsWith contains', 2],
);
export const MEMBER = functions(
  ['size', 0],
  ['matches startsWith endsWith contains', 1],
  ['getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds getMilliseconds', 0, 1],
);
export const OF_RE = functions(['capture captureN', 2], ['extract', 3]);

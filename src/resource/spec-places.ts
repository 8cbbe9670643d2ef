// Places in a spec by path: read, changed and removed. Pure: a value in which nothing changes is returned as the same object.
import type { Json } from './types.ts';
import { isObject } from './read-json.ts';

/** Steps into a spec; `*` stands for every item of a list. */
export type Path = readonly string[];
export type Place = { readonly name: string; readonly value: Json };

/** Reads a text such as `to.*.default` as steps. */
export function path(text: string): Path {
  return text.split('.');
}

/** Every value at a path, each with its name for people. @param name the name of the value itself */
export function find(value: Json | undefined, [step, ...rest]: Path, name = 'spec'): Place[] {
  if (value === undefined) return [];
  if (step === undefined) return [{ name, value }];
  if (step !== '*') return isObject(value) ? find(value[step], rest, `${name}.${step}`) : [];
  return Array.isArray(value) ? value.flatMap((item, index) => find(item, rest, `${name}[${String(index)}]`)) : [];
}

/** A copy with the values at a path changed, or the value itself when none of them changes. */
export function edit<T extends Json>(value: T, steps: Path, change: (value: Json) => Json): T;
export function edit(value: Json, [step, ...rest]: Path, change: (value: Json) => Json): Json {
  if (step === undefined) return change(value);
  if (step === '*') {
    if (!Array.isArray(value)) return value;
    const items = value.map((item) => edit(item, rest, change));
    return items.every((item, index) => Object.is(item, value[index])) ? value : items;
  }
  const old = isObject(value) ? value[step] : undefined;
  if (!isObject(value) || old === undefined) return value;
  const next = edit(old, rest, change);
  return Object.is(next, old) ? value : { ...value, [step]: next };
}

/** A copy without these keys. Object.fromEntries defines own properties, `__proto__` too. */
export function without<T extends Json>(value: T, keys: readonly string[]): T;
export function without(value: Json, keys: readonly string[]): Json {
  if (!isObject(value) || !keys.some((key) => Object.hasOwn(value, key))) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

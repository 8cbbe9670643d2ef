// Keys from outside are data: `__proto__` becomes a key like any other and never touches a prototype.

/** Sets an own property of any name. */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

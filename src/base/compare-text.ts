// Order of names: by UTF-16 code unit, which for names (ASCII) is the order of bytes.

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

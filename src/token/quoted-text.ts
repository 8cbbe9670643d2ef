// Text of a token or a proxy in a message: a status is short.
const MAX_SHOWN = 63;

export function quote(text: string): string {
  return JSON.stringify(text.slice(0, MAX_SHOWN).toWellFormed());
}

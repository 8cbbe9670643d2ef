// The part of Go's text/template that hostnames and SPIFFE IDs may use: `{{ .Field }}` and `{{ label "key" }}` (policies 9.5). Pure.
// Invariant: the work is linear in the length of the template, and both the template and the text have a maximum length.
import type { Labels } from '../types.ts';

/** The largest number of characters of a template. A longer one from a peer is stored and renders nothing. */
export const MAX_TEMPLATE = 2_048;
/** The largest number of characters of the rendered text: more than a hostname or a SPIFFE ID may have. */
const MAX_TEXT = 4_096;

const LABEL = /^label\s+(?:"([^"]+)"|`([^`]+)`)$/;
const KNOWN_ACTION = /^(?:\.[A-Za-z]+|label\s+(?:"[^"]+"|`[^`]+`))$/;

/** The values for the actions of a template; fields without their dot. */
type TemplateValues = { readonly fields: Readonly<Record<string, string>>; readonly labels: Labels };

/** The text, or the reason for its absence: a missing label, an unknown action, or an exceeded limit. */
export function renderTemplate(template: string, values: TemplateValues): { readonly text: string } | { readonly error: string } {
  if (template.length > MAX_TEMPLATE) return { error: `the template is longer than ${MAX_TEMPLATE} characters` };
  let error: string | null = null;
  let length = 0;
  const text = replaceActions(template, (action) => {
    const value = length > MAX_TEXT ? { error: `the text is longer than ${MAX_TEXT} characters` } : valueOf(action, values);
    if (typeof value === 'string') {
      length += value.length;
      return length > MAX_TEXT ? '' : value;
    }
    error ??= value.error;
    return '';
  });
  if (error === null && length > MAX_TEXT) return { error: `the text is longer than ${MAX_TEXT} characters` };
  return error === null ? { text } : { error };
}

/**
 * Replaces each action of the template with the result of `valueOf`. An action stands between `{{` and `}}` and has no brace in it;
 * `valueOf` gets it without trim markers and white space.
 */
export function replaceActions(template: string, valueOf: (action: string) => string): string {
  let text = '';
  let taken = 0;
  for (let open = template.indexOf('{{'); open !== -1;) {
    const brace = nextBrace(template, open + 2);
    if (brace !== -1 && template.startsWith('}}', brace)) {
      text += template.slice(taken, open) + valueOf(withoutMarkers(template.slice(open + 2, brace)));
      taken = brace + 2;
      open = template.indexOf('{{', taken);
    } else {
      // `{{{` opens an action at its second brace.
      open = brace === -1 ? -1 : template.indexOf('{{', Math.max(open + 1, brace - 1));
    }
  }
  return text + template.slice(taken);
}

/** The index of the first `{` or `}` from an index on; -1 where there is none. */
function nextBrace(template: string, from: number): number {
  for (let at = from; at < template.length; at += 1) {
    const character = template[at];
    if (character === '{' || character === '}') return at;
  }
  return -1;
}

/** `{{- .Name -}}` trims the text around it, where a hostname has no white space. */
function withoutMarkers(inside: string): string {
  const start = inside.startsWith('-') ? 1 : 0;
  const end = inside.length > start && inside.endsWith('-') ? inside.length - 1 : inside.length;
  return inside.slice(start, end).trim();
}

/** Whether a text is a template whose actions are all of the known forms; their fields and labels are not looked up. */
export function isTemplate(text: string): boolean {
  if (text.length > MAX_TEMPLATE) return false;
  let isKnown = true;
  const rest = replaceActions(text, (action) => {
    isKnown &&= KNOWN_ACTION.test(action);
    return '';
  });
  return isKnown && !rest.includes('{{');
}

function valueOf(action: string, { fields, labels }: TemplateValues): string | { error: string } {
  const field = action.startsWith('.') ? action.slice(1) : '';
  if (Object.hasOwn(fields, field)) return fields[field] ?? '';
  const [, quoted, raw] = LABEL.exec(action) ?? [];
  const key = quoted ?? raw;
  if (key === undefined) return { error: `{{ ${action} }} is not known` };
  return (Object.hasOwn(labels, key) ? labels[key] : undefined) ?? { error: `the service has no label ${JSON.stringify(key)}` };
}

// The part of Go's text/template that hostnames and SPIFFE IDs may use: `{{ .Field }}` and `{{ label "key" }}` (policies 9.5). Pure.
import type { Labels } from './types.ts';

const ACTION = /(?:\{\{-|\{\{)\s*([^{}]*?)\s*(?:-\}\}|\}\})/g;
const LABEL = /^label\s+(?:"([^"]+)"|`([^`]+)`)$/;

/** What the actions of a template are looked up in; fields without their dot. */
export type TemplateValues = { readonly fields: Readonly<Record<string, string>>; readonly labels: Labels };

/** The text, or why there is none: a label that is not carried, or an action that is not known. */
export function renderTemplate(template: string, values: TemplateValues): { readonly text: string } | { readonly error: string } {
  let error: string | null = null;
  const text = template.replace(ACTION, (_, action: string) => {
    const value = valueOf(action, values);
    if (typeof value === 'string') return value;
    error ??= value.error;
    return '';
  });
  return error === null ? { text } : { error };
}

function valueOf(action: string, { fields, labels }: TemplateValues): string | { error: string } {
  const field = action.startsWith('.') ? action.slice(1) : '';
  if (Object.hasOwn(fields, field)) return fields[field] ?? '';
  const [, quoted, raw] = LABEL.exec(action) ?? [];
  const key = quoted ?? raw;
  if (key === undefined) return { error: `{{ ${action} }} is not known` };
  return (Object.hasOwn(labels, key) ? labels[key] : undefined) ?? { error: `the service has no label ${JSON.stringify(key)}` };
}

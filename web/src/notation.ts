// YAML or JSON: how documents stand in the page. The control plane reads and prints YAML, so that the page needs no parser.
import { signal } from '@preact/signals';
import { ApiFailure, ask, askText, type Sending } from './session.ts';

export type Notation = 'yaml' | 'json';
export type Draft = { readonly text: string; readonly notation: Notation };

/** What a person chose last in this tab. */
export const notation = signal<Notation>('yaml');

const TYPES: Readonly<Record<Notation, string>> = { yaml: 'application/yaml', json: 'application/json' };

/** What the control plane adds, and accepts from no client. */
const ADDED = new Set(['creationTime', 'modificationTime', 'kri', 'status']);

/** @property whyNoYaml why it stands in JSON alone: a control plane reads and prints YAML only up to a size (decision 65) */
export type Stored = {
  readonly etag: string | null;
  readonly texts: { readonly json: string; readonly yaml?: string };
  readonly whyNoYaml?: string;
};

/** A control plane reads no longer text in YAML. */
const MAX_YAML_BYTES = 256 * 1024;

/** The version in an ETag, which is opaque elsewhere; empty without one. */
export function versionOf(etag: string | null): string {
  return /\d+/.exec(etag ?? '')?.[0] ?? '';
}

/** A draft as the body of a request. */
export function bodyOf({ text, notation: as }: Draft): NonNullable<Sending['text']> {
  return { content: as === 'json' ? withoutIndents(text) : text, type: TYPES[as] };
}

/** The same as the body of a request that takes a list. */
export function listOf(draft: Draft): NonNullable<Sending['text']> {
  const { content, type } = bodyOf(draft);
  const isOne = draft.notation === 'json' && !content.trimStart().startsWith('[');
  return { content: isOne ? `[${content}]` : content, type };
}

/** Spaces must not bring a document over the limit of a body. What is no JSON stays: the control plane says at which character. */
function withoutIndents(json: string): string {
  try {
    JSON.parse(json);
  } catch {
    return json;
  }
  return json.replaceAll(/\n\s+/g, '\n');
}

/** A stored resource in both notations, without what the control plane adds. @throws ApiFailure */
export async function loadDocument(path: string, signal: AbortSignal): Promise<Stored> {
  const { body, etag } = await ask<Readonly<Record<string, unknown>>>(path, { signal });
  const json = JSON.stringify(Object.fromEntries(Object.entries(body).filter(([key]) => !ADDED.has(key))), null, 2);
  try {
    const yaml = await inNotation({ text: json, notation: 'json' }, 'yaml', signal);
    if (new Blob([yaml]).size <= MAX_YAML_BYTES) return { etag, texts: { json, yaml } };
    return { etag, texts: { json }, whyNoYaml: 'it has more than 256 KiB' };
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status === 0) throw error;
    return { etag, texts: { json }, whyNoYaml: error.message };
  }
}

/** The draft in the other notation. @throws ApiFailure for a text that is not in its own notation */
export async function inNotation(draft: Draft, to: Notation, signal?: AbortSignal): Promise<string> {
  const sending = { method: 'POST', text: bodyOf(draft), accept: TYPES[to], ...(signal !== undefined && { signal }) } as const;
  const { text } = await askText('/_format', sending);
  return to === 'json' ? JSON.stringify(JSON.parse(text), null, 2) : text;
}

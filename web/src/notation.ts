// YAML or JSON: how documents stand in the page. The control plane reads and prints YAML, so that the page needs no parser.
import { signal } from '@preact/signals';
import { ask, open, type Sending } from './session.ts';

export type Notation = 'yaml' | 'json';
export type Draft = { readonly text: string; readonly notation: Notation };

/** What a person chose last in this tab. */
export const notation = signal<Notation>('yaml');

const TYPES: Readonly<Record<Notation, string>> = { yaml: 'application/yaml', json: 'application/json' };

/** What the control plane adds, and accepts from no client. */
const ADDED = new Set(['creationTime', 'modificationTime', 'kri', 'status']);

export type Stored = { readonly etag: string | null; readonly texts: Readonly<Record<Notation, string>> };

/** The version in an ETag, which is opaque elsewhere; empty without one. */
export function versionOf(etag: string | null): string {
  return /\d+/.exec(etag ?? '')?.[0] ?? '';
}

/** A draft as the body of a request. */
export function bodyOf({ text, notation: as }: Draft): NonNullable<Sending['text']> {
  return { content: text, type: TYPES[as] };
}

/** The same as the body of a request that takes a list. */
export function listOf({ text, notation: as }: Draft): NonNullable<Sending['text']> {
  const isOne = as === 'json' && !text.trimStart().startsWith('[');
  return { content: isOne ? `[${text}]` : text, type: TYPES[as] };
}

/** A stored resource in both notations, without what the control plane adds. @throws ApiFailure */
export async function loadDocument(path: string, signal: AbortSignal): Promise<Stored> {
  const { body, etag } = await ask<Readonly<Record<string, unknown>>>(path, { signal });
  const json = JSON.stringify(Object.fromEntries(Object.entries(body).filter(([key]) => !ADDED.has(key))), null, 2);
  return { etag, texts: { json, yaml: await inNotation({ text: json, notation: 'json' }, 'yaml') } };
}

/** The draft in the other notation. @throws ApiFailure for a text that is not in its own notation */
export async function inNotation(draft: Draft, to: Notation): Promise<string> {
  const answer = await open('/_format', { method: 'POST', text: bodyOf(draft), accept: TYPES[to] });
  const text = await answer.text();
  return to === 'json' ? JSON.stringify(JSON.parse(text), null, 2) : text;
}

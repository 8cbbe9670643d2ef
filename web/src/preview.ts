// What documents and deletions would change, asked of the control plane. Nothing is stored.
import type { Answer } from '../../src/answers/answers.ts';
import { inNotation, listOf, type Draft } from './notation.ts';
import { ask, type Sending } from './session.ts';

export type Preview = Answer<'Preview'>;
/** A resource that would be deleted. `mesh` is empty for types outside of meshes. */
export type Deletion = { readonly type: string; readonly mesh: string; readonly name: string };

/** @throws ApiFailure */
export async function previewOf(draft: Draft, deletions: readonly Deletion[]): Promise<Preview> {
  const text = deletions.length === 0 ? listOf(draft) : await bodyOf(draft, deletions);
  return (await ask<Preview>('/_preview', { method: 'POST', text })).body;
}

/** The body that has both: one JSON object. @throws ApiFailure for a text that is not in its own notation */
async function bodyOf(draft: Draft, deletions: readonly Deletion[]): Promise<NonNullable<Sending['text']>> {
  const gone = JSON.stringify(deletions.map(({ mesh, ...rest }) => ({ ...rest, ...(mesh !== '' && { mesh }) })));
  const type = 'application/json';
  if (draft.text.trim() === '') return { content: `{"delete":${gone}}`, type };
  const json = draft.notation === 'json' ? draft.text : await inNotation(draft, 'json');
  return { content: `{"documents":${listOf({ text: json, notation: 'json' }).content},"delete":${gone}}`, type };
}

/** Deletions as they stand in the address: `MeshTimeout/shop/slow,Zone/-/east`. */
export function addressOf(deletions: readonly Deletion[]): string {
  return deletions.map(({ type, mesh, name }) => [type, mesh === '' ? '-' : mesh, name].join('/')).join(',');
}

/** The same, read from the address. What has another form is left out. */
export function deletionsIn(address: string): readonly Deletion[] {
  return address.split(',').flatMap((one) => {
    const [type = '', mesh = '', name = '', ...more] = one.split('/');
    return type === '' || name === '' || more.length > 0 ? [] : [{ type, mesh: mesh === '-' ? '' : mesh, name }];
  });
}

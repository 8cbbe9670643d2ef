import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { placeOf, type TypeInfo } from '../catalog.ts';
import { listOf, type Draft } from '../notation.ts';
import { go, linkTo } from '../router.ts';
import { ApiFailure, ask } from '../session.ts';
import { DocumentForm, type Outcome } from './document-form.tsx';

type Applied = Answer<'Applied'>['items'][number];

/** A document that is not stored yet. Its name and mesh say where it goes. */
export function NewResource({ type }: { readonly type: TypeInfo }): JSX.Element {
  const mesh = type.scope === 'Mesh' ? 'mesh: default\n' : '';
  let stored: Applied | undefined;
  const send = async (draft: Draft, isDryRun: boolean): Promise<Outcome> => {
    const path = `/_apply${isDryRun ? '?dryRun=true' : ''}`;
    const { body } = await ask<Answer<'Applied'>>(path, { method: 'POST', text: listOf(draft) }).catch((error: unknown) => {
      throw error instanceof ApiFailure ? ofOneDocument(error) : error;
    });
    const [first, second] = body.items;
    if (first === undefined || second !== undefined) throw new ApiFailure(0, 'Write one document. What if takes several');
    if (!isDryRun) stored = first;
    return first;
  };
  return (
    <section class="card editor" aria-label="Document">
      <DocumentForm
        start={{ text: `type: ${type.name}\n${mesh}name: \nspec: {}\n`, notation: 'yaml' }}
        send={send}
        onStored={() => stored !== undefined && go(linkTo(placeOf(type.path, stored.mesh, stored.name)))}
      />
    </section>
  );
}

/** The fields of a list of documents begin with the place in the list. */
function ofOneDocument({ status, message, violations }: ApiFailure): ApiFailure {
  const fields = violations.map((one) => ({ ...one, field: one.field.replace(/^documents\[0\]\.?/, '') }));
  return new ApiFailure(status, message, fields);
}

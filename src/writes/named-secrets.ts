// The Secrets that written documents name: their writer needs the right to use them, and no document may name those of control planes
// (decision 93). Invariant: a refusal for the missing right says nothing about which Secrets there are.
import type { Violation } from '../base/violations.ts';
import { hashNameOf } from '../resource/hash-name.ts';
import { ownSecretPurpose, relatedToSecret, type Has } from '../resource/own-secrets.ts';
import { secretRefsIn, type SecretRef } from '../resource/secret-refs.ts';
import { keyText } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { refuseAll, type Draft } from './write-checks.ts';

/** Checks the right of the caller. @throws ApiError 403 that names the field, unless the caller may name Secrets of the mesh */
export type AuthorizeUse = (mesh: string, field: string) => void;

/** @property place the place in the request, `documents[3]`; `''` for the only document */
type Placed = { readonly draft: Draft; readonly place: string };
type Named = SecretRef & { readonly mesh: string };

/** Checks the Secrets that drafts name. @throws ApiError 403, or 400 that names each field with a Secret of a control plane */
export async function requireUsableSecrets(
  documents: readonly Placed[],
  store: Pick<ResourceStore, 'getMany' | 'list'>,
  authorizeUse: AuthorizeUse,
): Promise<void> {
  const named = documents.flatMap(({ draft, place }) =>
    secretRefsIn(draft.spec).map(({ name, field }) => ({ mesh: draft.key.mesh, name, field: placed(place, field) })),
  );
  for (const { mesh, field } of named) authorizeUse(mesh, field);
  refuseAll(await violationsOf(named, store));
}

async function violationsOf(named: readonly Named[], store: Pick<ResourceStore, 'getMany' | 'list'>): Promise<Violation[]> {
  const keys = new Map(named.flatMap(({ mesh, name }) => relatedToSecret(mesh, name)).map((key) => [keyText(key), key]));
  const found = keys.size === 0 ? [] : await store.getMany([...keys.values()]);
  const rows = new Set(found.map(keyText));
  // A zone has the MeshIdentities of global under other names.
  for (const mesh of new Set([...keys.values()].map((key) => key.mesh)))
    for (const identity of await store.list({ type: 'MeshIdentity', mesh }))
      rows.add(keyText({ ...identity, name: hashNameOf(identity) }));
  return named.flatMap(({ mesh, name, field }) => {
    const has: Has = (type, other) => rows.has(keyText({ type, mesh, name: other }));
    const purpose = ownSecretPurpose(name, has);
    const reason = `must not be ${JSON.stringify(name)}, which the control plane keeps for itself: ${purpose ?? ''}`;
    return purpose === null ? [] : [{ field, reason }];
  });
}

function placed(place: string, field: string): string {
  return place === '' ? field : `${place}.${field}`;
}

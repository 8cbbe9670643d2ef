// The withdrawals of MeshIdentities in a zone: the step of each, and the proxies that it waits for, as the leader stored them. Pure.
import { compareText } from '../base/compare-text.ts';
import type { Answer } from '../answers/answers.ts';
import { heldRow, identityNameOf, progressOf, readInForce } from '../resource/identity-in-force.ts';
import { displayNameOf } from '../resource/labels.ts';
import type { Resource } from '../resource/types.ts';

type Withdrawal = Answer<'MeshTls'>['withdrawals'][number];

/** @param rows Secrets of a mesh; others than those of withdrawn identities are left out */
export function withdrawalsView(rows: readonly Resource[]): Withdrawal[] {
  const found = rows.flatMap((row): Withdrawal[] => {
    const [storedName, inForce] = [identityNameOf(row), readInForce(row)];
    if (storedName === null || inForce === null || inForce.step === 'held') return [];
    const { step, services, since, until } = inForce;
    const { waiting, waitsFor } = progressOf(row);
    const name = displayNameOf(heldRow(row, inForce));
    return [{ name, storedName, step, since, until, services: services.length, waiting, waitsFor: [...waitsFor] }];
  });
  return found.sort((a, b) => compareText(a.storedName, b.storedName));
}

// The step of the rotation of a certificate authority, in words. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';

const STEPS: Readonly<Record<Answer<'AuthorityRotation'>['step'], string>> = {
  none: 'no rotation',
  requested: 'requested: the leader makes the next authority',
  distribute: 'distribute: the MeshTrust holds both authorities; nothing is signed by the next one',
  renew: 'renew: the next authority signs; the last one is trusted until its certificates have ended',
};

/** @param whyNotReady `''` for a MeshIdentity that is ready */
export function rotationText(
  { mesh, name, authority, step, waiting, waitsFor, until }: Answer<'AuthorityRotation'>,
  whyNotReady = '',
): string {
  const what = step === 'renew' ? 'a certificate of the next authority' : 'the acceptance of the trust bundle';
  const more = waiting > waitsFor.length ? ` and ${String(waiting - waitsFor.length)} more` : '';
  const lines = [
    `MeshIdentity   ${name} of mesh ${mesh}`,
    ...(whyNotReady === '' ? [] : [`Not ready      ${whyNotReady}`]),
    `Authority      ${authority === '' ? '-' : authority}`,
    `Rotation       ${STEPS[step]}`,
    ...(waiting === 0 ? [] : [`Waits for      ${what}: ${waitsFor.join(', ')}${more}`]),
    ...(until === '' ? [] : [`Not before     ${until}`]),
  ];
  return lines.map(visibleLine).join('\n');
}

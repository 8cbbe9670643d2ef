// The step of the withdrawal of a MeshIdentity, in words. Pure.
import { visibleLine } from '../../base/visible-text.ts';
import type { Answer } from '../../answers/answers.ts';

type Withdrawal = Answer<'MeshTls'>['withdrawals'][number];

const STEPS: Readonly<Record<Withdrawal['step'], string>> = {
  open: 'open: its proxies take plain text too',
  clients: 'clients: their clients change to plain text',
  trust: 'trust: no proxy has it; its authority is trusted until the last certificate has ended',
};

export function withdrawalText({ name, step, since, until, services, waiting, waitsFor }: Withdrawal): string {
  const lines = [
    `Withdrawal     of MeshIdentity ${name}: ${STEPS[step]}`,
    `Since          ${since}`,
    ...(step === 'trust' ? [] : [`Services       ${String(services)}`]),
    ...(waiting === 0 ? [] : [`Waits for      ${namesIn(waiting, waitsFor)}, ten minutes at most`]),
    ...(until === '' ? [] : [`Not before     ${until}`]),
  ];
  return lines.map(visibleLine).join('\n');
}

/** A line of a list of meshes. */
export function withdrawalLine({ name, step, waiting, waitsFor }: Withdrawal): string {
  const waits = waiting === 0 ? '' : `; waits for ${namesIn(waiting, waitsFor)}`;
  return visibleLine(`  MeshIdentity ${name} is withdrawn: ${STEPS[step]}${waits}`);
}

function namesIn(waiting: number, waitsFor: readonly string[]): string {
  const more = waiting > waitsFor.length ? ` and ${String(waiting - waitsFor.length)} more` : '';
  return `${waitsFor.join(', ')}${more}`;
}

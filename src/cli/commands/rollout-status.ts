// `meridian rollout status TYPE NAME`: which zones have the newest change of a resource, and why others have not. `rollout list`: the last
// changes.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import type { Answer } from '../../answers/answers.ts';
import type { ApiClient } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { findOne, requireType } from '../client/find.ts';
import { addWaitOptions, waitOf, WAIT_HELP, type WaitOptions } from '../client/follow-rollouts.ts';
import { addMeshOption, addOutputOption, type MeshOptions, type OutputOptions } from '../options.ts';
import { exitCodeOfRollouts } from '../exit-codes.ts';
import { ageOf, isForPrograms, print, printList, serialize } from '../output.ts';
import { changesText, rolloutText } from '../views/rollout-text.ts';

const STATUS_HELP = `
The times count from the commit of the change. The last 1,000 changes since the
start of the control plane have times; of older ones only the state is known.
${WAIT_HELP}

Examples:
  meridian rollout status meshtimeout slow --mesh shop
  meridian rollout status mt slow -m shop --wait --timeout 1m`;

const LIST_HELP = `
Examples:
  meridian rollout list
  meridian rollout list -o json`;

type Changes = { readonly items: readonly Answer<'ChangeSummary'>[]; readonly note?: string };
type StatusOptions = ConnectOptions & MeshOptions & OutputOptions & WaitOptions;

export function addRolloutStatus(rollout: Command): void {
  const command = rollout
    .command('status')
    .description('the zones that have the newest change of a resource, and why others have not')
    .argument('<type>', 'type, plural or short name: MeshTimeout, meshtimeouts, mt')
    .argument('<name>', 'display name or stored name');
  addConnectOptions(addWaitOptions(addOutputOption(addMeshOption(command))))
    .addHelpText('after', STATUS_HELP)
    .action(status);
}

export function addRolloutList(rollout: Command): void {
  const command = rollout.command('list').description('the last changes that were sent to zones, the newest first');
  addConnectOptions(addOutputOption(command))
    .addHelpText('after', LIST_HELP)
    .action(async ({ output, ...connection }: ConnectOptions & OutputOptions): Promise<void> => {
      const client = await connect(connection);
      const { items, note } = (await client.read('/_changes?size=50')) as Changes;
      const nothing =
        note === undefined ? 'no change was sent since the start of this control plane' : `no change was sent: ${note}`;
      const hops = isForPrograms(output) ? null : await secondHops(client, items);
      printList(items, output, { nothing, text: (changes) => changesText(changes, (time) => ageOf(time), hops) });
    });
}

/**
 * The other zones that have these changes, as a zone knows them; null on global, and for a control plane that does not say it.
 */
async function secondHops(client: ApiClient, changes: Changes['items']): Promise<readonly Answer<'OnwardSummary'>[] | null> {
  if (changes.length === 0 || (await client.index()).mode !== 'zone') return null;
  const ids = changes.map(({ id }) => String(id)).join(',');
  const answer = client.read(`/_changes/_onward?ids=${ids}`) as Promise<{ items: readonly Answer<'OnwardSummary'>[] }>;
  return await answer.then(
    ({ items }) => items,
    () => null,
  );
}

async function status(typeName: string, name: string, { mesh, output, ...options }: StatusOptions): Promise<void> {
  const info = requireType(typeName);
  const waitMs = waitOf(options);
  const client = await connect(options);
  const inMesh = info.scope === 'Mesh' ? mesh : '';
  const found = await findOne(client, info, mesh, name, { command: `rollout status ${info.name}` }).catch((error: unknown) => {
    // The changes of a deleted resource are kept under its stored name.
    if (error instanceof MeridianError && error.code === 'not_found') return { name };
    throw error;
  });
  const rollout = await client.rollout(info, inMesh, found.name, waitMs);
  print(isForPrograms(output) ? serialize(rollout, output) : rolloutText(rollout, output === 'wide'));
  process.exitCode = exitCodeOfRollouts([rollout]);
}

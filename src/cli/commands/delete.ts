// `meridian delete`: one resource by name, or all resources in files.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import type { Answer } from '../../answers/answers.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { ApiClient } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { readDocuments } from '../documents/read-files.ts';
import { inSystemNamespace } from '../documents/system-namespace.ts';
import { reasonOf } from '../documents/prune.ts';
import { exitCodeOfRollouts, UsageError } from '../exit-codes.ts';
import { findOne, requireType, targetOf } from '../client/find.ts';
import { addWaitOptions, rolloutsOf, waitOf, WAIT_HELP, type WaitOptions, type Written } from '../client/follow-rollouts.ts';
import { addFileOption, addMeshOption, addNamespaceOption, type MeshOptions, type NamespaceOptions } from '../options.ts';
import { note, print } from '../output.ts';
import { rolloutsText } from '../views/rollout-text.ts';
import { describeDocument } from '../views/problem-text.ts';
import { storedNameOf } from '../../document/read-document.ts';

type Options = ConnectOptions &
  MeshOptions &
  NamespaceOptions &
  WaitOptions & {
    readonly file?: readonly string[];
    readonly ignoreNotFound?: boolean;
    readonly dryRun?: boolean;
    readonly yes?: boolean;
  };

const HELP = `
Deleting a Mesh deletes its resources too: the command counts them, and asks for
the name of the mesh at a terminal. A script gives --yes. A Mesh with Dataplanes
is refused.
With -f the documents are deleted in reverse order, Meshes last.
${WAIT_HELP}

Examples:
  meridian delete meshtimeout slow --mesh shop
  meridian delete mt/slow --mesh shop      as get -o name prints it
  meridian delete mesh shop --dry-run      show what it takes along
  meridian delete -f examples/shop/global --ignore-not-found`;

export function addDeleteCommand(program: Command): void {
  const command = program
    .command('delete')
    .description('delete a resource, or the resources of files')
    .argument('[type]', 'type, plural or short name; or TYPE/NAME')
    .argument('[name]', 'display name or stored name');
  const withFiles = addNamespaceOption(addMeshOption(addFileOption(command, { required: false })))
    .option('--ignore-not-found', 'succeed for a resource that does not exist')
    .option('--dry-run', 'show what would be deleted, and delete nothing')
    .option('-y, --yes', 'delete a Mesh with its resources without a question');
  addConnectOptions(addWaitOptions(withFiles))
    .addHelpText('after', HELP)
    .action(async (typeText: string | undefined, nameText: string | undefined, options: Options) => {
      const { type, name } = typeText === undefined ? { type: undefined, name: undefined } : targetOf(typeText, nameText);
      if (options.file !== undefined && type === undefined) await deleteFiles(options.file, options);
      else if (options.file === undefined && type !== undefined && name !== undefined) await deleteOne(type, name, options);
      else throw new UsageError('give a type and a name, or files with -f; `meridian delete --help` shows both');
    });
}

async function deleteOne(type: string, name: string, options: Options): Promise<void> {
  const { mesh, namespace, ignoreNotFound = false, dryRun = false, yes = false, file: _file, ...connection } = options;
  const waitMs = waitOf(connection);
  const client = await connect(connection);
  const info = requireType(type);
  try {
    const found = await findOne(client, info, mesh, name, { command: `delete ${info.name}`, namespace });
    const target = { info, mesh: found.mesh ?? '', name: found.name };
    if (dryRun) return await showPlan(client, target);
    if (info.name === 'Mesh' && !yes) await confirm(client, target);
    await client.delete(info, target.mesh, target.name);
    print(`deleted ${describeDocument(target)}`);
    await follow(client, [target], waitMs);
  } catch (error) {
    if (!ignoreNotFound || !isNotFound(error)) throw error;
    print(`${info.name} ${name} does not exist`);
  }
}

type Target = { readonly info: TypeInfo; readonly mesh: string; readonly name: string };

async function showPlan(client: ApiClient, target: Target): Promise<void> {
  const takes = (await client.planDelete(target.info, target.mesh, target.name)) ?? [];
  print(`would delete ${describeDocument(target)}${takes.length === 0 ? '' : ` with ${takesText(takes)}`}`);
}

/** Asks for the name of the mesh at a terminal. @throws UsageError elsewhere, MeridianError for another answer */
async function confirm(client: ApiClient, { info, mesh, name }: Target): Promise<void> {
  const takes = await client.planDelete(info, mesh, name);
  if (takes?.length === 0) return;
  const what = `Mesh ${name} takes ${takes === null ? 'all of its resources' : takesText(takes)} along`;
  if (!process.stdin.isTTY) throw new UsageError(`${what}; give --yes to delete all of it, or --dry-run to see more`);
  note(what);
  const { createInterface } = await import('node:readline/promises');
  const line = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await line.question('Type the name of the mesh to delete it: ').finally(() => line.close());
  if (answer.trim() !== name) throw new MeridianError('invalid', 'nothing was deleted: the answer is not the name of the mesh');
}

/** `7 resources (3 MeshTimeout, 4 MeshService)`. */
function takesText(takes: Answer<'DeleteDryRun'>['takes']): string {
  const total = takes.reduce((sum, one) => sum + one.total, 0);
  return `${total === 1 ? '1 resource' : `${String(total)} resources`} (${takes.map((one) => `${String(one.total)} ${one.type}`).join(', ')})`;
}

async function deleteFiles(files: readonly string[], options: Options): Promise<void> {
  const { mesh, ignoreNotFound = false, dryRun = false, yes = false, file: _file, ...connection } = options;
  const waitMs = waitOf(connection);
  const deleted: Written[] = [];
  const read = await readDocuments(files, mesh);
  const client = await connect(connection);
  const documents = (await inSystemNamespace(client, read)).toReversed();
  const failures: unknown[] = [];
  for (const document of documents) {
    try {
      const target = { info: document.info, mesh: document.mesh, name: storedNameOf(document) };
      if (dryRun) {
        await showPlan(client, target);
        continue;
      }
      // A script has named everything in its files.
      if (document.info.name === 'Mesh' && !yes && process.stdin.isTTY) await confirm(client, target);
      await client.delete(target.info, target.mesh, target.name);
      print(`deleted ${describeDocument(document)}`);
      deleted.push(target);
    } catch (error) {
      if (!(error instanceof MeridianError) || error.code === 'unavailable') throw error;
      if (ignoreNotFound && isNotFound(error)) print(`${describeDocument(document)} does not exist`);
      else {
        failures.push(error);
        note(`${document.place}: ${describeDocument(document)}: ${reasonOf(error)}`);
      }
    }
  }
  if (!dryRun) await follow(client, deleted, waitMs);
  if (failures.length === 0) return;
  const message = `${String(failures.length)} of ${String(documents.length)} resources could not be deleted`;
  throw new MeridianError(failures.every(isNotFound) ? 'not_found' : 'invalid', message);
}

async function follow(client: ApiClient, deleted: readonly Written[], waitMs: number): Promise<void> {
  const rollouts = await rolloutsOf(client, deleted, waitMs);
  if (rollouts !== null) print(rolloutsText(rollouts));
  process.exitCode = exitCodeOfRollouts(rollouts ?? []);
}

function isNotFound(error: unknown): boolean {
  return error instanceof MeridianError && error.code === 'not_found';
}

// `meridian delete`: one resource by name, or all resources in files.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import type { ApiClient } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { readDocuments } from '../documents/read-files.ts';
import { exitCodeOfRollouts, UsageError } from '../exit-codes.ts';
import { findOne, requireType } from '../client/find.ts';
import { addWaitOptions, rolloutsOf, waitOf, WAIT_HELP, type WaitOptions, type Written } from '../client/follow-rollouts.ts';
import { addFileOption, addMeshOption, addNamespaceOption, type MeshOptions, type NamespaceOptions } from '../options.ts';
import { note, print } from '../output.ts';
import { rolloutsText } from '../views/rollout-text.ts';
import { describeDocument } from '../views/problem-text.ts';
import { storedNameOf } from '../../document/read-document.ts';

type Options = ConnectOptions &
  MeshOptions &
  NamespaceOptions &
  WaitOptions & { readonly file?: readonly string[]; readonly ignoreNotFound?: boolean };

const HELP = `
A deleted Mesh takes its resources along; a Mesh with Dataplanes is refused.
With -f the documents are deleted in reverse order, Meshes last.
${WAIT_HELP}

Examples:
  meridian delete meshtimeout slow --mesh shop
  meridian delete -f examples/shop/global --ignore-not-found`;

export function addDeleteCommand(program: Command): void {
  const command = program
    .command('delete')
    .description('delete a resource, or the resources of files')
    .argument('[type]', 'type, plural or short name')
    .argument('[name]', 'display name or stored name');
  const withFiles = addNamespaceOption(addMeshOption(addFileOption(command, { required: false })));
  addConnectOptions(addWaitOptions(withFiles.option('--ignore-not-found', 'succeed for a resource that does not exist')))
    .addHelpText('after', HELP)
    .action(async (type: string | undefined, name: string | undefined, options: Options) => {
      if (options.file !== undefined && type === undefined) await deleteFiles(options.file, options);
      else if (options.file === undefined && type !== undefined && name !== undefined) await deleteOne(type, name, options);
      else throw new UsageError('give a type and a name, or files with -f; `meridian delete --help` shows both');
    });
}

async function deleteOne(
  type: string,
  name: string,
  { mesh, namespace, ignoreNotFound = false, ...connection }: Options,
): Promise<void> {
  const waitMs = waitOf(connection);
  const client = await connect(connection);
  const info = requireType(type);
  try {
    const found = await findOne(client, info, mesh, name, { command: `delete ${info.name}`, namespace });
    await client.delete(info, found.mesh ?? '', found.name);
    print(`deleted ${describeDocument({ info, mesh: found.mesh ?? '', name: found.name })}`);
    await follow(client, [{ info, mesh: found.mesh ?? '', name: found.name }], waitMs);
  } catch (error) {
    if (!ignoreNotFound || !isNotFound(error)) throw error;
    print(`${info.name} ${name} does not exist`);
  }
}

async function deleteFiles(files: readonly string[], { mesh, ignoreNotFound = false, ...connection }: Options): Promise<void> {
  const waitMs = waitOf(connection);
  const deleted: Written[] = [];
  const documents = (await readDocuments(files, mesh)).toReversed();
  const client = await connect(connection);
  const failures: unknown[] = [];
  for (const document of documents) {
    try {
      await client.delete(document.info, document.mesh, storedNameOf(document));
      print(`deleted ${describeDocument(document)}`);
      deleted.push({ info: document.info, mesh: document.mesh, name: storedNameOf(document) });
    } catch (error) {
      if (!(error instanceof MeridianError) || error.code === 'unavailable') throw error;
      if (ignoreNotFound && isNotFound(error)) print(`${describeDocument(document)} does not exist`);
      else {
        failures.push(error);
        const reasons = error.violations.map(({ reason }) => reason);
        note(`${document.place}: ${describeDocument(document)}: ${reasons.length > 0 ? reasons.join('; ') : error.message}`);
      }
    }
  }
  await follow(client, deleted, waitMs);
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

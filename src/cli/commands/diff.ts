// `meridian diff`: the changes that `apply` would make, or those between two versions of a resource.
import type { Command } from 'commander';
import { planApply, sendPlan } from '../documents/apply-requests.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { readDocuments } from '../documents/read-files.ts';
import { inSystemNamespace } from '../documents/system-namespace.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { requireType } from '../client/find.ts';
import { findVersioned } from '../client/find-versioned.ts';
import { MeridianError } from '../../base/errors.ts';
import {
  addFileOption,
  addMeshOption,
  addNamespaceOption,
  versionOf,
  type MeshOptions,
  type NamespaceOptions,
} from '../options.ts';
import { note, print, printPainted } from '../output.ts';
import { describeDocument } from '../views/problem-text.ts';
import { differenceOf, linesBetween } from '../documents/show-difference.ts';

const HELP = `
Lines that begin with + would be added, lines with - removed. The exit code is
0 when nothing would change and 5 when something would.

With a type and a name it shows what one version changed against an earlier
one. Without --to this is the last version, without --from the one before --to.
\`meridian history\` lists them.

Examples:
  meridian diff -f examples/shop/global
  meridian export | meridian diff -f - --context other
  meridian diff meshtimeout slow --mesh shop --from 3 --to 5`;

type Options = ConnectOptions &
  MeshOptions &
  NamespaceOptions & { readonly file?: readonly string[]; readonly from?: string; readonly to?: string };

export function addDiffCommand(program: Command): void {
  const command = program
    .command('diff')
    .description('show the changes that apply would make, or those between two versions')
    .argument('[type]', 'type, plural or short name')
    .argument('[name]', 'display name or stored name');
  addConnectOptions(addNamespaceOption(addMeshOption(addFileOption(command, { required: false }))))
    .option('--from <version>', 'the version to begin with', versionOf)
    .option('--to <version>', 'the version to end with', versionOf)
    .addHelpText('after', HELP)
    .action(async (type: string | undefined, name: string | undefined, options: Options) => {
      const { file } = options;
      if (file !== undefined && type === undefined) await diffFiles(file, options);
      else if (file === undefined && type !== undefined && name !== undefined) await diffVersions(type, name, options);
      else throw new UsageError('give files with -f, or a type and a name; `meridian diff --help` shows both');
    });
}

async function diffFiles(file: readonly string[], options: Options): Promise<void> {
  const { mesh, from, to, namespace: _namespace, file: _file, ...connection } = options;
  if (from !== undefined || to !== undefined) throw new UsageError('--from and --to need a type and a name');
  const read = await readDocuments(file, mesh);
  const { checkDocuments } = await import('../documents/check-documents.ts');
  checkDocuments(read);
  const client = await connect(connection);
  const documents = await inSystemNamespace(client, read);
  let differing = 0;
  for await (const part of sendPlan(client, await planApply(client, documents), { dryRun: true })) {
    for (const one of part) {
      if (one.result === 'unchanged') continue;
      differing += 1;
      print(`${describeDocument(one.document)} would be ${one.result}`);
      for (const line of await differenceOf(client, one)) printPainted(`  ${line}`);
    }
  }
  note(`${String(differing)} of ${String(documents.length)} resources differ`);
  if (differing > 0) process.exitCode = EXIT.differs;
}

async function diffVersions(type: string, name: string, options: Options): Promise<void> {
  const { mesh, namespace, from, to, file: _file, ...connection } = options;
  const client = await connect(connection);
  const info = requireType(type);
  const target = await findVersioned(client, info, { mesh, namespace, name, command: 'diff' });
  const last = to ?? String((await client.history(info, target.mesh, target.name)).items[0]?.version ?? '');
  if (last === '') throw new MeridianError('not_found', `no version of ${describeDocument(target)} is kept`);
  const after = await client.version(info, target.mesh, target.name, last, from);
  const first = from ?? (after.from === undefined ? null : String(after.from));
  const before = first === null ? null : await client.version(info, target.mesh, target.name, first);
  if (after.isHidden === true) note('the history has no data of secrets');
  const lines = await linesBetween(before?.resource ?? null, after.resource ?? null);
  for (const line of lines) printPainted(line);
  note(`${describeDocument(target)}: from ${first === null ? 'nothing' : `version ${first}`} to version ${last}`);
  if (lines.length > 0) process.exitCode = EXIT.differs;
}

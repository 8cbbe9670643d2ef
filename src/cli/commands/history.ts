// `meridian history TYPE NAME`: the versions of a resource. `meridian history --export`: those of all resources as JSON lines.
import { once } from 'node:events';
import type { Command } from 'commander';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { requireType } from '../client/find.ts';
import { findVersioned } from '../client/find-versioned.ts';
import { UsageError } from '../exit-codes.ts';
import { addLookupOptions, type LookupOptions } from '../options.ts';
import { ageOf, note, printList } from '../output.ts';
import { describeDocument } from '../views/problem-text.ts';
import { historyText } from '../views/history-text.ts';

const HELP = `
A version is a write by a person that changed the spec or the labels. Its number
is the version of the row, and continues when a deleted resource is created
again. store.history.versions and store.history.age limit what is kept. The data
of secrets is never kept. A copy has its history where it was written.

--export prints one JSON object in each line, the oldest first: the author, the
time and the content of each version. --after continues after an id.

Examples:
  meridian history meshtimeout slow --mesh shop
  meridian diff meshtimeout slow --mesh shop --from 3 --to 5
  meridian rollback meshtimeout slow --mesh shop --to 3 --dry-run
  meridian history --export > audit.jsonl`;

type Options = ConnectOptions & LookupOptions & { readonly export?: boolean; readonly after?: string };

export function addHistoryCommand(program: Command): void {
  const command = program
    .command('history')
    .description('the versions of a resource: who wrote what, and when')
    .argument('[type]', 'type, plural or short name: MeshTimeout, meshtimeouts, mt')
    .argument('[name]', 'display name or stored name')
    .option('--export', 'the versions of all resources, as JSON lines')
    .option('--after <id>', 'with --export: only those after this id');
  addConnectOptions(addLookupOptions(command))
    .addHelpText('after', HELP)
    .action(async (type: string | undefined, name: string | undefined, options: Options) => {
      if (options.export === true && type === undefined) await exportAll(options);
      else if (options.export !== true && type !== undefined && name !== undefined) await showOne(type, name, options);
      else throw new UsageError('give a type and a name, or --export; `meridian history --help` shows both');
    });
}

async function showOne(type: string, name: string, options: Options): Promise<void> {
  const { mesh, namespace, output, after, export: _export, ...connection } = options;
  if (after !== undefined) throw new UsageError('--after needs --export');
  const client = await connect(connection);
  const info = requireType(type);
  const target = await findVersioned(client, info, { mesh, namespace, name, command: 'history' });
  const { items, home, exists } = await client.history(info, target.mesh, target.name);
  const what = describeDocument(target);
  const nothing =
    home === undefined ? `no version of ${what} is kept` : `${what} is a copy of a resource of ${home}: its history is there`;
  printList(items, output, { nothing, text: (versions) => historyText(versions, (time) => ageOf(time)) });
  if (!exists) note(`${what} is deleted; \`meridian rollback\` brings a version back`);
}

async function exportAll({ after, ...options }: Options): Promise<void> {
  const { mesh: _mesh, namespace: _namespace, output: _output, export: _export, ...connection } = options;
  const client = await connect(connection);
  const path = after === undefined ? '/_history' : `/_history?after=${encodeURIComponent(after)}`;
  // JSON has control characters only in their escaped form.
  for await (const bytes of await client.stream(path, 'application/x-ndjson', new AbortController().signal))
    if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
}

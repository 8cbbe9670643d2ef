// `meridian preview`: what files would change, without writing them: zones, proxies and values in force.
import type { Command } from 'commander';
import type { Answer } from '../../answers/answers.ts';
import { findType } from '../../resource/type-registry.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { planApply, previewDeletion, sendPreview } from '../documents/apply-requests.ts';
import { readDocuments } from '../documents/read-files.ts';
import { inSystemNamespace } from '../documents/system-namespace.ts';
import { addFileOption, addMeshOption, addOutputOption, type MeshOptions, type OutputOptions } from '../options.ts';
import { isForPrograms, print, serialize } from '../output.ts';
import { previewText } from '../views/preview-text.ts';

const HELP = `
Every check of apply is made. For each document it shows which zones would get
it and under which name, then each proxy of which a value in force changes: the
value before and after, and the policy that sets it. What control planes compute
from services, such as hostnames and addresses, is not in it.
With --delete it shows what their deletion would change: the zones that lose
them, and the values that proxies lose.

Examples:
  meridian preview -f timeout.yaml
  meridian preview -f examples/shop/global -o json
  meridian preview --delete -f timeout.yaml
  cat timeout.yaml | meridian preview -f -`;

type Options = ConnectOptions & MeshOptions & OutputOptions & { readonly file: readonly string[]; readonly delete?: boolean };

export function addPreviewCommand(program: Command): void {
  const command = program.command('preview').description('show what files would change: zones, proxies and values');
  const withFiles = addFileOption(command, { required: true }).option(
    '--delete',
    'the changes that deleting the documents would make',
  );
  addConnectOptions(addOutputOption(addMeshOption(withFiles), ['table', 'json', 'yaml']))
    .addHelpText('after', HELP)
    .action(preview);
}

async function preview({ file, mesh, output, delete: isDeletion = false, ...connection }: Options): Promise<void> {
  const read = await readDocuments(file, mesh);
  const { checkDocuments } = await import('../documents/check-documents.ts');
  if (!isDeletion) checkDocuments(read);
  const client = await connect(connection);
  const documents = await inSystemNamespace(client, read);
  const answer = isDeletion
    ? await previewDeletion(client, documents)
    : await sendPreview(client, await planApply(client, documents));
  print(isForPrograms(output) ? serialize(withoutSecrets(answer), output) : previewText(answer));
}

/** Removes the values of secrets, which a log must not contain. */
function withoutSecrets(answer: Answer<'Preview'>): Answer<'Preview'> {
  const items = answer.items.map((item) =>
    item.diff === undefined || findType(item.type)?.adminOnly === false
      ? item
      : { ...item, diff: item.diff.map(({ op, path }) => ({ op, path })) },
  );
  return { ...answer, items };
}

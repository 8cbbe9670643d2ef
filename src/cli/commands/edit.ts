// `meridian edit`: opens a resource in an editor, and stores it only if no other writer has changed it.
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { MeridianError } from '../../base/errors.ts';
import type { ApiClient } from '../client/api-client.ts';
import { editable } from '../../document/universal-form.ts';
import { addConnectOptions, connect, connectWords, type ConnectOptions } from '../client/connect.ts';
import { parseDocuments, type ResourceDocument } from '../documents/read-files.ts';
import { EditedFile, withComments, withoutComments } from '../documents/edit-text.ts';
import { addWaitOptions, rolloutsOf, WAIT_HELP, waitOf, type WaitOptions, type Written } from '../client/follow-rollouts.ts';
import { findOne, requireType } from '../client/find.ts';
import { addMeshOption, addNamespaceOption, type MeshOptions, type NamespaceOptions } from '../options.ts';
import { exitCodeOfRollouts } from '../exit-codes.ts';
import { note, print } from '../output.ts';
import { rolloutsText } from '../views/rollout-text.ts';
import { describeDocument, problemText } from '../views/problem-text.ts';

type Options = ConnectOptions & MeshOptions & NamespaceOptions & WaitOptions;

const HELP = `
The editor is that of VISUAL or EDITOR, else vi. If another writer changes the
resource before you save, nothing is stored, and a file keeps your text.
${WAIT_HELP}

Examples:
  meridian edit meshtimeout slow --mesh shop
  EDITOR='code --wait' meridian edit mesh shop`;

export function addEditCommand(program: Command): void {
  const command = program
    .command('edit')
    .description('change a resource in your editor')
    .argument('<type>', 'type, plural or short name')
    .argument('<name>', 'display name or stored name');
  addConnectOptions(addWaitOptions(addNamespaceOption(addMeshOption(command))))
    .addHelpText('after', HELP)
    .action(async (type: string, name: string, { mesh, namespace, ...connection }: Options) => {
      const waitMs = waitOf(connection);
      const client = await connect(connection);
      const written = await edit(client, type, name, { mesh, namespace, again: connectWords(connection) });
      const rollouts = await rolloutsOf(client, written, waitMs);
      if (rollouts !== null) print(rolloutsText(rollouts));
      process.exitCode = exitCodeOfRollouts(rollouts ?? []);
    });
}

/** @param again the options of the connection, for commands to copy @returns the resource, if it was changed */
async function edit(
  client: ApiClient,
  typeName: string,
  name: string,
  { mesh, namespace, again }: MeshOptions & NamespaceOptions & { readonly again: string },
): Promise<Written[]> {
  const info = requireType(typeName);
  const { name: storedName, mesh: inMesh = '' } = await findOne(client, info, mesh, name, {
    command: `edit ${info.name}`,
    namespace,
  });
  const found = await client.getTagged(info, inMesh, storedName);
  if (found === undefined) throw new MeridianError('not_found', `${info.name} ${name} was deleted just now`);
  const about = describeDocument({ info, mesh: inMesh, name: storedName });
  const original = stringify(editable(found.item));
  const file = await EditedFile.create(`${storedName.slice(0, 100)}.yaml`);
  let text = original;
  let problems: readonly string[] = [];
  for (;;) {
    const written = await file.edit(withComments(text, about, problems)).catch(async (error: unknown) => {
      if (text !== original) throw kept(file, error, again);
      await file.remove();
      throw error;
    });
    const edited = withoutComments(written);
    if (edited === original || edited.trim() === '') {
      await file.remove();
      print(`${about} unchanged`);
      return [];
    }
    // Closing the editor without a change after an error ends the command.
    if (problems.length > 0 && edited === text)
      throw kept(file, new MeridianError('invalid', 'the errors were not corrected'), again);
    text = edited;
    try {
      // Keep the comments, so that positions are those of the file.
      const warnings = await store(client, readOne(written, file.path, { info, mesh: inMesh, name: storedName }), found.etag);
      await file.remove();
      print(`${about} updated`);
      for (const warning of warnings) note(`warning: ${warning}`);
      return [{ info, mesh: inMesh, name: storedName }];
    } catch (error) {
      if (!(error instanceof MeridianError) || error.code !== 'invalid') throw kept(file, error, again);
      problems = error.message.split('\n');
      note(error.message);
    }
  }
}

type Wanted = Pick<ResourceDocument, 'info' | 'mesh' | 'name'>;

/** @throws MeridianError `invalid` if the text has another resource, or none */
function readOne(text: string, path: string, wanted: Wanted): ResourceDocument {
  const [document, ...others] = parseDocuments([{ name: path, text }], wanted.mesh);
  if (document === undefined || others.length > 0) throw new MeridianError('invalid', 'the file must hold this one resource');
  if (document.info !== wanted.info || document.mesh !== wanted.mesh || document.name !== wanted.name)
    throw new MeridianError('invalid', 'type, mesh and name must stay; apply makes a new resource');
  return document;
}

async function store(client: ApiClient, document: ResourceDocument, etag: string | undefined): Promise<readonly string[]> {
  const { checkDocuments } = await import('../documents/check-documents.ts');
  checkDocuments([document]);
  const { info, mesh, name, body } = document;
  try {
    return (await client.put(info, mesh, name, body, { ifMatch: etag })).warnings;
  } catch (error) {
    if (!(error instanceof MeridianError) || error.violations.length === 0) throw error;
    const lines = error.violations.map(({ field, reason }) => problemText(document.placeOf(field), field, reason));
    throw new MeridianError('invalid', lines.join('\n'), { cause: error });
  }
}

/** @param again the options of the connection */
function kept(file: EditedFile, error: unknown, again: string): unknown {
  if (!(error instanceof MeridianError)) return error;
  const what = error.code === 'conflict' ? 'Another writer has changed the resource. Nothing' : 'Nothing';
  const differs = `see how it differs: meridian diff -f ${file.path}${again}`;
  // Apply is refused too without the right, and where the type is not written.
  const isFinal = error.code === 'forbidden' || error.code === 'read_only';
  const store = isFinal ? '' : `\n  store it all the same: meridian apply -f ${file.path}${again}`;
  const said = `${error.message}\n${what} was stored. Your text is kept;\n  ${differs}${store}`;
  return new MeridianError(error.code, said, { cause: error });
}

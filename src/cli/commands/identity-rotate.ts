// `meridian identity rotate` and `meridian inspect identity`: changes the certificate authority of a MeshIdentity, and tells how far
// that is.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import { objectOf, objectsOf, textOf } from '../../resource/read-json.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { Answer } from '../../answers/answers.ts';
import { itemPath, pathPart, type ApiClient } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { findOne } from '../client/find.ts';
import { addMeshOption, addOutputOption, type MeshOptions, type OutputOptions } from '../options.ts';
import { isForPrograms, print, serialize } from '../output.ts';
import { rotationText } from '../views/rotation-text.ts';
import { withdrawalText } from '../views/withdrawal-text.ts';

const ROTATE_HELP = `
Each zone has an authority of its own: run it against the zone. The new one
signs when every connected proxy trusts it; in a zone with a global also not
before ten minutes, for the proxies of other zones. The old one is dropped when
its last certificate has ended. The command returns at once and needs an admin.

Examples:
  meridian identity rotate identity --mesh shop --context east
  meridian inspect identity identity --mesh shop --context east`;

const INSPECT_HELP = `
Proxies lose a MeshIdentity that is deleted or narrowed step by step: they take
plain text too, then their clients change to plain text, then the certificates
go. It is shown here until its authority is not trusted any more.

Examples:
  meridian inspect identity identity --mesh shop --context east`;

type Options = ConnectOptions & MeshOptions & OutputOptions;
type Rotation = Answer<'AuthorityRotation'>;

export function addIdentityRotate(identity: Command): void {
  const command = identity
    .command('rotate')
    .description('on a zone: change the certificate authority of a MeshIdentity, without a failed request')
    .argument('<name>', 'display name or stored name of the MeshIdentity');
  addConnectOptions(addOutputOption(addMeshOption(command), ['table', 'json', 'yaml']))
    .addHelpText('after', ROTATE_HELP)
    .action(async (name: string, { mesh, output, ...connection }: Options): Promise<void> => {
      const client = await connect(connection);
      show(
        (await client.act(`${await pathOf(client, mesh, name, 'identity rotate')}/_rotate`, {})) as unknown as Rotation,
        output,
      );
    });
}

export function addInspectIdentity(inspect: Command): void {
  const command = inspect
    .command('identity')
    .description('on a zone: the authority of a MeshIdentity, with the step of its rotation or withdrawal')
    .argument('<name>', 'display name or stored name of the MeshIdentity');
  addConnectOptions(addOutputOption(addMeshOption(command), ['table', 'json', 'yaml']))
    .addHelpText('after', INSPECT_HELP)
    .action(async (name: string, { mesh, output, ...connection }: Options): Promise<void> => {
      const client = await connect(connection);
      const tls = (await client.read(`/meshes/${pathPart(mesh)}/_tls?size=1`)) as Answer<'MeshTls'>;
      const going = tls.withdrawals.filter((one) => one.name === name || one.storedName === name);
      const path = await pathOf(client, mesh, name, 'inspect identity').catch((error: unknown) => {
        // A MeshIdentity that is deleted goes on while proxies lose it.
        if (going.length > 0 && error instanceof MeridianError && error.code === 'not_found') return null;
        throw error;
      });
      const rotation = path === null ? null : ((await client.read(`${path}/_rotation`)) as Rotation);
      const why = path === null ? '' : whyNotReady(objectOf(await client.read(path))['status']);
      if (isForPrograms(output))
        return print(serialize({ ...rotation, ...(why !== '' && { whyNotReady: why }), withdrawals: going }, output));
      print([...(rotation === null ? [] : [rotationText(rotation, why)]), ...going.map(withdrawalText)].join('\n\n'));
    });
}

/** The reason in the status of a MeshIdentity; `''` for one that is ready. */
function whyNotReady(status: unknown): string {
  const failed = objectsOf(objectOf(status)['conditions']).find((one) => one['type'] === 'Ready' && one['status'] === 'False');
  return failed === undefined ? '' : textOf(failed['message']) || textOf(failed['reason']);
}

/**
 * The path of a MeshIdentity. In a zone, one that was made on global has a hashed name.
 * @param command the command to print where several have the display name
 */
async function pathOf(client: ApiClient, mesh: string, name: string, command: string): Promise<string> {
  const info = typeOf('MeshIdentity');
  const found = await findOne(client, info, mesh, name, { command });
  return itemPath(info, mesh, found.name);
}

function show(rotation: Rotation, output: OutputOptions['output']): void {
  print(isForPrograms(output) ? serialize(rotation, output) : rotationText(rotation));
}

// `meridian export`: all resources that were written on a control plane, as documents for `apply`.
import type { Command } from 'commander';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { exportedTypes, isCopy, isDerived } from '../documents/apply-order.ts';
import { exportedText } from '../documents/export-text.ts';
import { note, print } from '../output.ts';

type Options = ConnectOptions & { readonly mesh?: string; readonly includeSecrets?: boolean };

const HELP = `
The documents come in an order in which they can be applied, Meshes first,
without computed fields. Copies of resources of another control plane are left
out: export them there. Secrets are signing keys and
certificates: their holder can sign tokens, so keep such a file safe.

Examples:
  meridian export > everything.yaml
  meridian export --mesh shop --include-secrets > shop.yaml
  meridian apply -f everything.yaml --context other`;

export function addExportCommand(program: Command): void {
  const command = program
    .command('export')
    .description('all resources as documents for apply')
    .option('-m, --mesh <mesh>', 'only this mesh and its resources')
    .option('-a, --include-secrets', 'include secrets; only for admins');
  addConnectOptions(command).addHelpText('after', HELP).action(exportAll);
}

async function exportAll({ mesh, includeSecrets = false, ...connection }: Options): Promise<void> {
  const client = await connect(connection);
  const { mode, product } = await client.index();
  const types = exportedTypes({ secrets: includeSecrets, mode, product });
  // Without the right to read secrets nothing is printed: half an export looks like a whole one in a file.
  for (const info of types) if (info.adminOnly) await client.read(`/${info.path}?size=1`);
  let exported = 0;
  let copies = 0;
  for (const info of types) {
    if (mesh !== undefined && info.scope === 'Global' && info.name !== 'Mesh') continue;
    const items = await client.list(info, info.scope === 'Mesh' ? mesh : undefined);
    for (const item of items) {
      if (info.name === 'Mesh' && mesh !== undefined && item.name !== mesh) continue;
      if (isCopy(item, mode)) copies += 1;
      else if (!isDerived(item)) {
        print(exportedText(info, item, { isFirst: exported === 0 }));
        exported += 1;
      }
    }
  }
  const left = copies === 0 ? '' : `; ${String(copies)} copies of other control planes were left out`;
  note(`${String(exported)} resources${left}${includeSecrets ? '' : '; without secrets'}`);
}

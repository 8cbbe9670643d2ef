// `meridian inspect policy TYPE NAME`: which proxies a policy touches and, where it touches none, why.
import { visibleLine } from '../../base/visible-text.ts';
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import { pathPart } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { findOne, requireType } from '../client/find.ts';
import { longName, shortName } from '../views/kri-text.ts';
import { addMeshOption, addOutputOption, isForPrograms, type MeshOptions, type OutputOptions } from '../options.ts';
import { print, serialize, table } from '../output.ts';
import { readPages } from '../client/read-pages.ts';

const HELP = `
Examples:
  meridian inspect policy meshtimeout slow --mesh shop
  meridian inspect policy mhttpr cart-route --mesh shop -o wide`;

type Touched = { readonly kri: string; readonly sections: readonly string[]; readonly destinations: readonly string[] };
/** The answer of `GET …/{policies}/{name}/_reach`. */
export type Reach = {
  readonly kri: string;
  readonly role: string;
  readonly warnings: readonly string[];
  readonly touched: readonly Touched[];
  readonly untouched: readonly { readonly reason: string; readonly proxies: number }[];
};

type Options = ConnectOptions & MeshOptions & OutputOptions;

export function addInspectPolicy(inspect: Command): void {
  const command = inspect
    .command('policy')
    .description('which proxies a policy touches, and why it leaves out the others')
    .argument('<type>', 'type, plural or short name of a policy: MeshTimeout, meshtimeouts, mt')
    .argument('<name>', 'display name or stored name');
  addConnectOptions(addOutputOption(addMeshOption(command)))
    .addHelpText('after', HELP)
    .action(inspectPolicy);
}

async function inspectPolicy(typeName: string, name: string, { mesh, output, ...connection }: Options): Promise<void> {
  const info = requireType(typeName);
  if (info.policy === null)
    throw new MeridianError(
      'invalid',
      `${info.name} is not a policy, so it applies to no proxies; name a type such as MeshTimeout`,
    );
  const client = await connect(connection);
  const found = await findOne(client, info, mesh, name, { command: `inspect policy ${info.name}` });
  const path = `/meshes/${pathPart(mesh)}/${info.path}/${pathPart(found.name)}/_reach`;
  const reach = (await readPages(client, path, 'touched')) as unknown as Reach;
  print(isForPrograms(output) ? serialize(reach, output) : describeReach(reach, mesh, { wide: output === 'wide' }));
}

export function describeReach(
  { kri, role, warnings, touched, untouched }: Reach,
  mesh: string,
  style: { wide: boolean },
): string {
  const lines = [`${longName(kri, mesh)}, a ${role} policy`, kri];
  for (const warning of warnings) lines.push('', `warning: ${visibleLine(warning)}`);
  lines.push('', touched.length === 0 ? 'touches no proxy' : `touches ${count(touched.length)}`);
  const list = (texts: readonly string[]): string =>
    style.wide || texts.length <= 1 ? texts.join(', ') || '-' : `${texts[0] ?? ''} and ${String(texts.length - 1)} more`;
  const rows = touched.map(({ kri: proxy, sections, destinations }) => [
    shortName(proxy, mesh),
    list(sections),
    list(destinations.map((destination) => longName(destination, mesh))),
  ]);
  if (rows.length > 0) lines.push('', table(['PROXY', 'INBOUNDS', 'TO'], rows));
  if (untouched.length > 0) {
    lines.push('', 'it leaves out');
    for (const { reason, proxies } of untouched) lines.push(`  ${count(proxies)}: it ${visibleLine(reason)}`);
  }
  return lines.join('\n');
}

function count(proxies: number): string {
  return proxies === 1 ? '1 proxy' : `${String(proxies)} proxies`;
}

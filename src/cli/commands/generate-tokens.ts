// `meridian generate zone-token|user-token|dataplane-token`: signed by the control plane, or locally with a key from a file. Only the
// token is written to standard output or a file.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import { textOf } from '../../resource/read-json.ts';
import type { JsonObject } from '../../resource/types.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { UsageError } from '../exit-codes.ts';
import { addMeshOption, collect, type MeshOptions } from '../options.ts';
import { addSecretOptions, secretOutput, type SecretOptions } from '../secrets/secret-output.ts';
import { addSigningKeyOptions, signHere, type SigningKeyOptions } from '../secrets/signing-key.ts';

type Kind = 'zone' | 'user' | 'dataplane';
type Signed = ConnectOptions & SigningKeyOptions & SecretOptions;
type Timed = Signed & { readonly validFor: string };

export function addGenerateTokens(generate: Command): void {
  timed(generate.command('zone-token').description('the token of a zone for its global'))
    .requiredOption('--zone <zone>', 'name of the zone of the token')
    .option('--scope <scope>', 'cp, ingress or egress; repeatable; see below', collect)
    .addHelpText(
      'after',
      '\nRun it where the admin of the global is. A zone needs scope cp, or a token\nwithout scopes; ingress and egress are for zone proxies of Kuma.\n\nExamples:\n  meridian generate zone-token --zone east --valid-for 8760h --out east.token\n  meridian generate zone-token --zone east --valid-for 8760h \\\n    --signing-key-path key.pem --kid 2 --out east.token\n  MERIDIAN_MULTIZONE_ZONE_KDS_AUTH_TOKEN_FILE=east.token \\\n    meridian zone run --name east --global-address grpcs://global.example:5685',
    )
    .action(async ({ zone, scope, validFor, ...connection }: Timed & { zone: string; scope?: string[] }) =>
      issue('zone', { zone, ...(scope !== undefined && { scope: listed('--scope', scope) }), validFor }, connection),
    );
  timed(generate.command('user-token').description('the token of a person or program for the REST API'))
    .requiredOption('--name <name>', 'name of the user')
    .option('--group <group>', 'group of the user; may be given again', collect)
    .addHelpText(
      'after',
      '\nExamples:\n  meridian generate user-token --name jo --group a --valid-for 8h --out jo.token\n  meridian get meshes --token-file jo.token',
    )
    .action(async ({ name, group = [], validFor, ...connection }: Timed & { name: string; group?: string[] }) =>
      issue('user', { name, groups: listed('--group', group), validFor }, connection),
    );
  addMeshOption(timed(generate.command('dataplane-token').description('the token of a proxy for its zone')))
    .option('--name <name>', 'name of the Dataplane; without it any of the mesh')
    .option('--type <type>', 'dataplane, ingress or egress; see below')
    .option('--tag <key=value>', 'tag or label that the Dataplane must have; may be given again', collect)
    .option('--workload <name>', 'workload that the Dataplane must be of')
    .addHelpText(
      'after',
      '\nA zone ingress or egress whose Dataplane comes from its own file needs a token\nof type ingress or egress. For one that is both, and with kumactl, give its\nlabels:\n--tag kuma.io/listener-zoneingress=enabled,kuma.io/listener-zoneegress=enabled.\nA Dataplane that an administrator wrote needs no type. A label of a file that\ndecides the SPIFFE ID needs --tag with its value.\n\nExamples:\n  meridian generate dataplane-token --mesh shop --name web-1 --valid-for 720h\n  meridian generate dataplane-token --mesh shop --tag team=web --valid-for 24h',
    )
    .action(dataplaneToken);
}

type Dataplane = Timed & MeshOptions & { name?: string; type?: string; tag?: string[]; workload?: string };

async function dataplaneToken(options: Dataplane): Promise<void> {
  const { name = '', mesh, type = '', tag = [], workload = '', validFor, ...connection } = options;
  for (const option of ['name', 'type', 'workload'] as const) requireGiven(`--${option}`, options[option]);
  await issue('dataplane', { name, mesh, tags: tagsOf(tag), type, workload, validFor }, connection);
}

function timed(command: Command): Command {
  command.requiredOption('--valid-for <duration>', 'lifetime of the token: 24h, 8760h');
  return addConnectOptions(addSigningKeyOptions(addSecretOptions(command)));
}

async function issue(kind: Kind, request: JsonObject, options: Signed): Promise<void> {
  const { signingKeyPath, kid, out, force, ...connection } = options;
  requireGiven('--valid-for', textOf(request['validFor']));
  const write = await secretOutput({ out, force });
  const token =
    signingKeyPath === undefined && kid === undefined
      ? await (await connect(connection)).token(kind, request)
      : await signHere(kind, request, { signingKeyPath, kid }, connection);
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token))
    throw new MeridianError('internal', 'the answer is not a token; is this a control plane?');
  // Programs that read token files may not accept a line break.
  await write(out === '-' && process.stdout.isTTY ? `${token}\n` : token);
}

/** An option that narrows a token must not be blank: the token would be good for more. @throws UsageError */
function requireGiven(option: string, value: string | undefined): void {
  if (value?.trim() === '') throw new UsageError(`${option}: must not be blank`);
}

/** @throws UsageError */
function listed(option: string, values: readonly string[]): string[] {
  for (const value of values) requireGiven(option, value.replaceAll(',', ' '));
  return values.flatMap((value) => value.split(',')).filter((value) => value !== '');
}

/** `a=1`, `a=2`, `b=3` → `{ a: [1, 2], b: [3] }`. @throws UsageError */
function tagsOf(tags: readonly string[]): Record<string, string[]> {
  const found = new Map<string, string[]>();
  for (const tag of listed('--tag', tags)) {
    const at = tag.indexOf('=');
    if (at < 1) throw new UsageError(`--tag: ${JSON.stringify(tag)} must be key=value`);
    const key = tag.slice(0, at);
    if (key === '__proto__') throw new UsageError('--tag: __proto__ is no key of a tag');
    found.set(key, [...(found.get(key) ?? []), tag.slice(at + 1)]);
  }
  return Object.fromEntries(found);
}

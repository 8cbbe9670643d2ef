// `meridian token revoke`: the id of a token goes into the revocation list of its kind. The token itself never leaves this machine.
import { Option, type Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { MeridianError } from '../../base/errors.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { ApiClient } from '../client/api-client.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { addRevocation } from '../client/revocations.ts';
import { whereIssued, type Issued } from '../client/issued-here.ts';
import { UsageError } from '../exit-codes.ts';
import type { TokenRealm } from '../../token/token-realm.ts';
import { addMeshOption, type MeshOptions } from '../options.ts';
import { note, print } from '../output.ts';

type Kind = 'user' | 'zone' | 'dataplane';
type Options = ConnectOptions & MeshOptions & { readonly id?: string; readonly kind?: Kind };
/** @property token null if only its id is known */
type Revoked = {
  readonly kind: Kind;
  readonly mesh: string;
  readonly id: string;
  readonly of: string;
  readonly token: string | null;
};

const HELP = `
Zone tokens and dataplane tokens are revoked on global: a zone that has one
refuses to. A user token is revoked on the control plane that issued it. The
open streams of the token end at once.
Another signing key in place of the old one ends all its tokens.

Examples:
  meridian token revoke east.token
  meridian token revoke - < east.token
  meridian token revoke --kind zone --id 3f6f1c56-2f1c-4b5e-9f0a-3f7f2f0c8d11
  meridian token revoke --kind dataplane --mesh shop --id 7d1f0b1e-0c55`;

export function addTokenRevoke(token: Command): void {
  const command = token
    .command('revoke')
    .description('refuse a token from now on')
    .argument('[file]', 'the file of the token; - for standard input')
    .option('--id <jti>', 'id of a token whose file is lost: its claim jti')
    .addOption(new Option('--kind <kind>', 'of --id: the kind of the token').choices(['user', 'zone', 'dataplane']));
  addConnectOptions(addMeshOption(command)).addHelpText('after', HELP).action(revoke);
}

async function revoke(file: string | undefined, { id, kind, mesh, ...connection }: Options): Promise<void> {
  if ((file === undefined) === (id === undefined) || (id === undefined) !== (kind === undefined))
    throw new UsageError('give the file of a token, or --id and --kind');
  const revoked =
    id === undefined || kind === undefined
      ? await revokedOf(file ?? '-')
      : { kind, mesh: kind === 'dataplane' ? mesh : '', id, of: `${kind} token`, token: null };
  if (!/^[^\s,]+$/.test(revoked.id)) throw new UsageError('--id: an id has no comma and no white space');
  const { dataplaneRealm, userRealm, zoneRealm } = await import('../../token/token-realm.ts');
  const realm = { user: userRealm, zone: zoneRealm, dataplane: dataplaneRealm(revoked.mesh) }[revoked.kind];
  const client = await connect(connection);
  const list = { info: typeOf(realm.secretType), mesh: realm.mesh, name: realm.revocations };
  const { mode, federated } = await client.index();
  const isInZone = revoked.kind !== 'user' && mode === 'zone';
  if (isInZone && federated === true)
    throw new MeridianError(
      'invalid',
      `${client.address} is a zone with a global, which has the list of revoked ${revoked.kind} tokens: revoke the token there`,
    );
  const issued = await issuerOf(client, realm, revoked);
  if (issued === 'elsewhere')
    throw new MeridianError(
      'invalid',
      `${client.address} has not signed the ${revoked.of}, and only the control plane that issued it can refuse it: nothing was changed. --kind user --id with its claim jti revokes it here all the same.`,
    );
  const isNew = await addRevocation(client, list, revoked.id);
  print(`${revoked.of} ${revoked.id} ${isNew ? 'is revoked' : 'was already revoked'} at ${client.address}`);
  if (issued === 'unknown')
    note('Only the control plane that issued a user token refuses it now: make sure that this is the one.');
  // Only Meridian says whether a zone has a global.
  if (isInZone && federated === undefined)
    note('This is a zone. If it has a global, revoke the token there: global and the other zones still accept it.');
}

/** Lists of zone tokens and dataplane tokens are those of all control planes; each has its own of user tokens. */
async function issuerOf(client: ApiClient, realm: TokenRealm, { kind, token }: Revoked): Promise<Issued> {
  if (kind !== 'user') return 'here';
  return token === null ? 'unknown' : await whereIssued(client, realm, token);
}

/** The token of a file. Its signature is not checked here. @throws MeridianError that quotes nothing of the file */
async function revokedOf(file: string): Promise<Revoked> {
  const where = file === '-' ? 'standard input' : file;
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch((cause: unknown) => {
    throw new MeridianError('config', `${where} cannot be read (${(cause as { code?: string }).code ?? 'unknown error'})`, {
      cause,
    });
  });
  const { claimsOfJwt } = await import('../../token/jwt.ts');
  const token = content.trim();
  const claims = claimsOfJwt(token);
  if (claims === null) throw new MeridianError('invalid', `${where} holds no JSON Web Token`);
  const { jti, Zone: zone, Name: name, Mesh: mesh } = claims;
  if (typeof jti !== 'string' || jti === '') throw new MeridianError('invalid', `the token in ${where} has no id (claim jti)`);
  if (typeof zone === 'string') return { kind: 'zone', mesh: '', id: jti, of: `token of zone ${zone}`, token };
  if (typeof mesh === 'string') return { kind: 'dataplane', mesh, id: jti, of: `dataplane token of mesh ${mesh}`, token };
  if (typeof name === 'string') return { kind: 'user', mesh: '', id: jti, of: `token of user ${name}`, token };
  throw new MeridianError('invalid', `the token in ${where} has none of the claims Zone, Mesh and Name`);
}

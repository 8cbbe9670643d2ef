// Moves the rotation of an authority by one step at a time: distribute, sign, drop (decision 54). Each step is one transaction, which
// fails if the rows have changed since they were read.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { readRotation, rotationSpec, type Rotation, type RotationProgress } from '../../resource/identity-rotation.ts';
import { parseMeshIdentity, trustDomainOf } from '../../resource/mesh-identity.ts';
import { secretSpec, secretText } from '../../resource/secret-data.ts';
import type { Resource } from '../../resource/types.ts';
import type { ResourceStore, Write } from '../../store/resource-store.ts';
import { haveOthersAccepted } from './other-zones.ts';
import type { IdentityRows } from './plan-identity.ts';
import { distribution, isNews, isOver, lastEnd, renewal, wakeOf, type MeshFacts } from './plan-rotation.ts';

export type RotationOptions = {
  readonly store: ResourceStore;
  readonly zone: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds for the proxies of other zones that do not report their acceptance; 0 in a zone without others. */
  readonly otherZonesMs: number;
};

/** `again` means that something was written. `wakeAt` is in milliseconds since 1970; null if a change of a row will tell. */
type RotationStep = { readonly then: 'again' } | { readonly then: 'wait'; readonly wakeAt: number | null };

const WAIT: RotationStep = { then: 'wait', wakeAt: null };

type Step<T extends Rotation['step']> = Extract<Rotation, { readonly step: T }>;

/** A requested rotation, with the rows of its MeshIdentity. */
type StepInput = {
  readonly options: RotationOptions;
  readonly identity: Resource;
  readonly trust: Resource | undefined;
  /** The Secrets: the certificate of the authority, its key, and the rotation. */
  readonly certificate: Resource;
  readonly key: Resource;
  readonly row: Resource;
  readonly now: Date;
};

/** Takes the next step of a rotation. @param rows the rows of a MeshIdentity whose authority and MeshTrust are complete */
export async function stepRotation(options: RotationOptions, rows: IdentityRows): Promise<RotationStep> {
  const { identity, certificate, key, trust, rotation: row } = rows;
  const rotation = row === undefined ? null : readRotation(row);
  if (row === undefined || rotation === null || certificate === undefined || key === undefined) return WAIT;
  const input: StepInput = { options, identity, trust, certificate, key, row, now: options.clock.now() };
  if (rotation.step === 'requested') return await begin(input);
  const facts = await meshFactsOf(options.store, identity.mesh);
  if (rotation.step === 'distribute') return await distribute(input, rotation, facts);
  return await renew(input, rotation, facts);
}

async function begin(input: StepInput): Promise<RotationStep> {
  const { options, identity, row, now } = input;
  const trustDomain = trustDomainOf(parseMeshIdentity(identity), identity.mesh, options.zone);
  if (trustDomain === null) return WAIT;
  const { createAuthority } = await import('../../identity/authority.ts');
  const made = await createAuthority(trustDomain, now);
  const begun: Rotation = { step: 'distribute', ...made, waiting: 0, waitsFor: [], until: '' };
  return await commit(input, [rotationWrite(row, begun)], 'made the next authority of a MeshIdentity; its proxies get it');
}

/** Waits until every proxy trusts the next authority, which then signs. */
async function distribute(input: StepInput, rotation: Step<'distribute'>, facts: MeshFacts): Promise<RotationStep> {
  const { options, identity, trust, certificate, key, row, now } = input;
  if (trust === undefined) return WAIT;
  const otherZonesMs = haveOthersAccepted(facts.trusts, options.zone) ? 0 : options.otherZonesMs;
  const state = distribution(facts, options.zone, trust.modificationTime, otherZonesMs);
  if (!isOver(state, now)) return await waitWith(input, rotation, state);
  const until = lastEnd(identity, facts.insights, now).toISOString();
  const signing: Rotation = {
    ...{ step: 'renew', previousPem: secretText(certificate), signedAt: now.toISOString() },
    ...{ waiting: 0, waitsFor: [], until },
  };
  const secret = (of: Resource, pem: string): Write => replaced(of, secretSpec(pem));
  return await commit(
    input,
    [secret(certificate, rotation.certPem), secret(key, rotation.keyPem), rotationWrite(row, signing)],
    'the next authority of a MeshIdentity signs',
  );
}

/** Waits until the last certificate of the earlier authority has ended. */
async function renew(input: StepInput, rotation: Step<'renew'>, facts: MeshFacts): Promise<RotationStep> {
  const { identity, row, now } = input;
  if (Date.parse(rotation.until) > now.getTime())
    return await waitWith(input, rotation, renewal(facts, identity, rotation.signedAt, rotation.until));
  const { type, mesh, name, version } = row;
  const over: Write = { op: 'delete', key: { type, mesh, name }, expectVersion: version };
  return await commit(input, [over], 'the rotation of an authority is over: the last one is not trusted any more');
}

/** Stores the progress of a step if it has changed. */
async function waitWith(
  input: StepInput,
  rotation: Step<'distribute' | 'renew'>,
  state: RotationProgress,
): Promise<RotationStep> {
  const next: Rotation = { ...rotation, ...state };
  if (isNews(rotation, state)) return await commit(input, [rotationWrite(input.row, next)], '');
  return { then: 'wait', wakeAt: wakeOf(next) };
}

/** @param done the line of the log; `''` for none */
async function commit({ options, identity }: StepInput, writes: readonly Write[], done: string): Promise<RotationStep> {
  const { mesh, name } = identity;
  const outcomes = await options.store.writeAll(writes);
  const refused = outcomes.find((outcome) => outcome.result === 'rejected');
  if (refused?.result === 'rejected') {
    options.log.warn({ mesh, name, reason: refused.message }, 'a rotation was not stored');
    return WAIT;
  }
  if (done !== '' && outcomes.every((outcome) => 'version' in outcome)) options.log.info({ mesh, name }, done);
  return { then: 'again' };
}

function rotationWrite(row: Resource, next: Rotation): Write {
  return replaced(row, rotationSpec(next));
}

/** The rows of a mesh on which the steps depend. */
export async function meshFactsOf(store: ResourceStore, mesh: string): Promise<MeshFacts> {
  const [identities = [], trusts = [], dataplanes = [], insights = []] = await Promise.all(
    ['MeshIdentity', 'MeshTrust', 'Dataplane', 'DataplaneInsight'].map(async (type) => store.list({ type, mesh })),
  );
  return { identities, trusts, dataplanes, insights };
}

function replaced({ type, mesh, name, labels, version }: Resource, spec: Resource['spec']): Write {
  return { op: 'update', key: { type, mesh, name }, labels, spec, expectVersion: version };
}

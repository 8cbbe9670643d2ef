// Reads one response of a peer: decodes it, rewrites it by the rules, and checks it. Pure. An invalid resource becomes a refusal
// that names it, and the others continue (engine 15).
import { MeridianError, messageOf, type Violation } from '../../base/errors.ts';
import { decodeKumaResource, wireVersion, type WireResource } from '../../resource/codec.ts';
import { decodableStatus, undecodable } from '../../validation/undecodable.ts';
import { isStorable } from '../../resource/storable-text.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import { nameText, type ResourceKey } from '../../resource/types.ts';
import type { Steps } from '../../base/steps.ts';
import type { DeltaResponse } from '../../wire/kds-messages.ts';
import { splitWireName } from '../protocol/wire-name.ts';
import { peerNameViolations } from '../protocol/peer-names.ts';
import { nackedResource, type NackedResource } from '../protocol/nack.ts';
import type { ReceiveRules } from '../protocol/rules.ts';

/** A resource in its stored form, with the version and the size in bytes of its wire form. */
export type Incoming = WireResource & { readonly version: string; readonly bytes: number };

/** The number of names of removed resources between two steps. */
const NAMES_A_STEP = 128;

export type Validate = (
  info: TypeInfo,
  resource: Pick<WireResource, 'name' | 'mesh' | 'labels' | 'spec'>,
) => readonly Violation[];

export type ReadResponse = {
  /** The resources by `nameText`. */
  readonly resources: ReadonlyMap<string, Incoming>;
  /** The removed rows, by `nameText`, without refused names and names that no row can have. */
  readonly removed: ReadonlyMap<string, ResourceKey>;
  readonly refusals: readonly NackedResource[];
};

/**
 * Returns the resources that are readable, in scope and valid. Resources out of scope are ignored, all others are refused. The
 * version is the hash of the bytes, not the version that the peer sends: equal versions must mean equal content. One step handles
 * one resource.
 * @param maxBytes the limit of one resource; a larger one is refused before decoding, because decoding cannot pause
 */
export function* readResponse(
  info: TypeInfo,
  response: DeltaResponse,
  rules: ReceiveRules,
  validate: Validate,
  maxBytes = Infinity,
): Steps<ReadResponse> {
  const resources = new Map<string, Incoming>();
  const refusals: NackedResource[] = [];
  for (const { name: wireName, resource: bytes } of response.resources) {
    yield;
    try {
      requireSize(bytes.length, maxBytes);
      const sent = decodeKumaResource(info, bytes);
      requireOneName(wireName, sent);
      const resource = withDecodableStatus(info, rules.rewrite(sent, info));
      if (!rules.inScope(resource, info)) continue;
      const violations = violationsOf(info, resource, validate);
      if (violations.length === 0)
        resources.set(nameText(resource), { ...resource, version: wireVersion(bytes), bytes: bytes.length });
      else {
        const reason = violations.map(({ field, reason }) => `${field}: ${reason}`).join('; ');
        refusals.push(nackedResource(info.name, storedKey(info, wireName, rules), reason));
      }
    } catch (error) {
      refusals.push(nackedResource(info.name, storedKey(info, wireName, rules), messageOf(error)));
    }
  }
  const removed = new Map<string, ResourceKey>();
  for (const [index, wireName] of response.removedResources.entries()) {
    if (index % NAMES_A_STEP === 0) yield;
    const key = storedKey(info, wireName, rules);
    if (isStorable(key.name) && isStorable(key.mesh)) removed.set(nameText(key), key);
  }
  // A response may remove a resource and add it again. If the new form is refused, the stored row stays unchanged (kds-wire 6.2.1).
  for (const refusal of refusals) removed.delete(nameText(refusal));
  return { resources, removed, refusals };
}

/** A spec that a Kuma peer cannot decode is not stored, because it would be withheld from every Kuma peer. */
function violationsOf(info: TypeInfo, resource: WireResource, validate: Validate): readonly Violation[] {
  const violations = [...peerNameViolations(info, resource), ...validate(info, resource)];
  const broken = violations.length === 0 ? undecodable(info.name, resource.spec) : null;
  return broken === null ? violations : [broken];
}

/** Fields of a status that a Kuma peer cannot decode are not stored either. The zone computes them again. */
function withDecodableStatus(info: TypeInfo, resource: WireResource): WireResource {
  const status = resource.status && decodableStatus(info.name, resource.status);
  return status === resource.status ? resource : { ...resource, status };
}

function requireSize(bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  const text = `the resource has ${String(bytes)} bytes, global takes ${String(maxBytes)}; make it smaller, or raise multizone.global.kds.quotas.resourceBytes on global`;
  throw new MeridianError('too_large', text);
}

/** Versions, removals and refusals use the wire name. A row with another name inside would be resumed and pruned under the wrong name. */
function requireOneName(wireName: string, { name, mesh }: WireResource): void {
  if (wireName === `${name}.${mesh}`) return;
  const inside = JSON.stringify(`${name}.${mesh}`);
  throw new MeridianError(
    'invalid',
    `Resource.name must be ${inside}, as the resource itself says; it is ${JSON.stringify(wireName)}`,
  );
}

function storedKey(info: TypeInfo, wireName: string, rules: ReceiveRules): ResourceKey {
  const { name, mesh } = splitWireName(wireName);
  return { type: info.name, mesh, name: rules.storedName(name) };
}

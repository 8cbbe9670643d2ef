// The parts of specs and statuses that change on their way to a peer, by type (kds-wire 5.3, 5.4). Pure.
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { MeridianError } from '../../base/errors.ts';
import { label } from '../../resource/labels.ts';
import { objectOf } from '../../resource/read-json.ts';
import { secretSpec, secretText } from '../../resource/secret-data.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';

/** Removes `status.zoneEgress`: each zone computes its own, and it is never synced (D22). */
export function statusForGlobal({ status }: Resource, info: TypeInfo): JsonObject {
  if (info.name !== 'MeshExternalService' || !('zoneEgress' in status)) return status;
  return Object.fromEntries(Object.entries(status).filter(([key]) => key !== 'zoneEgress'));
}

/** The rewrite of a spec for global, by type. */
export const zoneSpecRewrites: Readonly<Partial<Record<string, (spec: JsonObject) => JsonObject>>> = {
  DataplaneInsight: withoutGenerations,
  Dataplane: withAddress,
};

/** A Dataplane without an address is sent with that of its first zone section (D18). */
function withAddress(spec: JsonObject): JsonObject {
  const networking = objectOf(spec['networking']);
  if (networking['address'] !== undefined) return spec;
  const address = ['zoneIngress', 'zoneEgress'].map((key) => objectOf(networking[key])['address']).find(Boolean);
  return address === undefined ? spec : { ...spec, networking: { ...networking, address } };
}

/** Removes the generation of subscriptions: it rises constantly, and global does not use it (kds-wire 5.4.2). */
function withoutGenerations(spec: JsonObject): JsonObject {
  const subscriptions = spec['subscriptions'];
  if (!Array.isArray(subscriptions)) return spec;
  const still = subscriptions.map((item) =>
    Object.fromEntries(Object.entries(objectOf(item)).filter(([key]) => key !== 'generation')),
  );
  return { ...spec, subscriptions: still };
}

export function withGatewayZone(spec: JsonObject, zone: string): JsonObject {
  const networking = objectOf(spec['networking']);
  const gateway = objectOf(networking['gateway']);
  const tags = objectOf(gateway['tags']);
  if (tags[label.zone] === undefined) return spec;
  return { ...spec, networking: { ...networking, gateway: { ...gateway, tags: { ...tags, [label.zone]: zone } } } };
}

/** Zones get only the public half of a zone-token signing key (kds-wire 5.3.2). */
export function publicKeySpec(secret: Resource): JsonObject {
  try {
    const key = createPrivateKey(secretText(secret));
    return secretSpec(createPublicKey(key).export({ type: 'pkcs1', format: 'pem' }).toString());
  } catch (cause) {
    throw new MeridianError('invalid', `GlobalSecret ${secret.name} holds no PEM "RSA PRIVATE KEY"; it is not sent to zones`, {
      cause,
    });
  }
}

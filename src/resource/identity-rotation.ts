// A change of the certificate authority of a MeshIdentity, as a zone stores it: one Secret beside those of the authority. The leader
// moves it from step to step, so another leader goes on where the last one stopped. Pure.
import { ROTATION } from './own-secrets.ts';
import { numberOf, textOf } from './read-json.ts';
import { secretObject, secretSpec } from './secret-data.ts';
import type { JsonObject, Resource, ResourceKey } from './types.ts';

/** The times are in RFC 3339. */
export type Rotation =
  /** Someone has asked for it; there is no new authority yet. */
  | { readonly step: 'requested' }
  /** The MeshTrust holds both authorities. Proxies accept it, and nothing is signed by the new one. */
  | ({ readonly step: 'distribute'; readonly certPem: string; readonly keyPem: string } & RotationProgress)
  /** The new authority signs. The MeshTrust holds the old one until the last certificate of it has ended. */
  | ({ readonly step: 'renew'; readonly previousPem: string; readonly signedAt: string } & RotationProgress);

export type RotationProgress = {
  /** The number of connected proxies that have not done their part. */
  readonly waiting: number;
  /** The names of the first of them. */
  readonly waitsFor: readonly string[];
  /** The step does not end before this time; `''` if it is not known yet. */
  readonly until: string;
};

/** The number of proxies that are named. */
export const MAX_NAMED = 5;

/** The Secret with the rotation. @param name the stored name of the MeshIdentity */
export function rotationKey(mesh: string, name: string): ResourceKey {
  return { type: 'Secret', mesh, name: `${name}${ROTATION}` };
}

/** Reads a Secret. @returns null for one that holds no rotation */
export function readRotation(secret: Pick<Resource, 'spec'>): Rotation | null {
  const given = secretObject(secret);
  const { step } = given;
  if (step === 'requested') return { step };
  const names = Array.isArray(given['waitsFor']) ? given['waitsFor'].map(textOf).slice(0, MAX_NAMED) : [];
  const progress = { waiting: numberOf(given['waiting']), waitsFor: names, until: textOf(given['until']) };
  const [certPem, keyPem, previousPem] = ['certPem', 'keyPem', 'previousPem'].map((key) => textOf(given[key]));
  if (step === 'distribute' && certPem && keyPem) return { step, certPem, keyPem, ...progress };
  if (step === 'renew' && previousPem) return { step, previousPem, signedAt: textOf(given['signedAt']), ...progress };
  return null;
}

/** The authority beside the one that signs, in PEM: the next one, or the previous one. There is at most one. */
export function otherAuthorities(rotation: Rotation | null): string[] {
  if (rotation?.step === 'distribute') return [rotation.certPem];
  return rotation?.step === 'renew' ? [rotation.previousPem] : [];
}

/** The spec of the Secret. */
export function rotationSpec(rotation: Rotation): JsonObject {
  return secretSpec(JSON.stringify(rotation));
}

// The headers that identify a caller to global, and the headers with which global identifies itself (kds-wire 2.1).
import { Metadata } from '@grpc/grpc-js';
import { MeridianError } from '../../base/errors.ts';
import { globalHeaderFeatures } from './features.ts';

/** The caller of an RPC. */
export type Caller = {
  readonly zone: string;
  readonly features: readonly string[];
  /** The id of the database from which the zone speaks; null for a peer that shows none. */
  readonly storeId: string | null;
  /** All values of the header. */
  readonly authorization: readonly string[];
};

/** The header with the id of the zone's store, on every call. */
export const STORE_ID_HEADER = 'store-id';
const STORE_ID = /^[A-Za-z0-9-]{1,64}$/;

/** The features in the header of a call or of an answer. Node's HTTP/2 joins repeated headers with commas, so values are split (kds-wire 0.4). */
export function featuresIn(metadata: Metadata): string[] {
  return metadata.get('features').flatMap((value) =>
    value
      .toString()
      .split(',')
      .map((name) => name.trim()),
  );
}

/**
 * Reads the headers of a call.
 * @throws MeridianError `invalid` without `client-id`, or with a `store-id` that no store makes
 */
export function callerOf(metadata: Metadata): Caller {
  const zone = metadata.get('client-id')[0]?.toString();
  if (zone === undefined || zone === '') throw new MeridianError('invalid', '"client-id" is not present in metadata');
  const features = featuresIn(metadata);
  const storeIds = metadata.get(STORE_ID_HEADER).map((value) => value.toString());
  if (storeIds.length > 1 || storeIds.some((id) => !STORE_ID.test(id)))
    throw new MeridianError('invalid', `"${STORE_ID_HEADER}" in metadata must be one id of 1 to 64 letters, digits and hyphens`);
  return {
    zone,
    features,
    storeId: storeIds[0] ?? null,
    authorization: metadata.get('authorization').map((value) => value.toString()),
  };
}

/** Global announces itself before any message (engine 1). */
export function ownFeatures(): Metadata {
  const metadata = new Metadata();
  for (const name of globalHeaderFeatures) metadata.add('features', name);
  return metadata;
}

// Who calls global, as the headers of a call say it, and what global says of itself in the answer (kds-wire 2.1).
import { Metadata } from '@grpc/grpc-js';
import { MeridianError } from '../base/errors.ts';
import { feature } from './features.ts';

/** Of a call. */
export type Caller = {
  readonly zone: string;
  readonly features: readonly string[];
  /** All values of the header. */
  readonly authorization: readonly string[];
};

/**
 * Node's HTTP/2 hands repeated headers over joined with commas: they are split (kds-wire, trap 4).
 * @throws MeridianError `invalid` without `client-id`
 */
export function callerOf(metadata: Metadata): Caller {
  const zone = metadata.get('client-id')[0]?.toString();
  if (zone === undefined || zone === '') throw new MeridianError('invalid', '"client-id" is not present in metadata');
  const features = metadata.get('features').flatMap((value) =>
    value
      .toString()
      .split(',')
      .map((name) => name.trim()),
  );
  return { zone, features, authorization: metadata.get('authorization').map((value) => value.toString()) };
}

/** Global announces itself before any message (engine 1). */
export function ownFeatures(): Metadata {
  const metadata = new Metadata();
  metadata.set('features', feature.meridian);
  return metadata;
}

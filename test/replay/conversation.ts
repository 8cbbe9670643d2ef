// The requests of a receiver on one stream: subscriptions, ACKs and NACKs.
import { decodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { requests, senderOf, type Side, type Zone } from './recording.ts';

/** The recorded requests of a side on the stream of a zone. */
export function recordedRequests(side: Side, zone: Zone): Buffer[] {
  return requests.filter((frame) => senderOf(frame) === side && frame.zone === zone).map(({ bytes }) => bytes);
}

/** @throws Error when a request differs from the form that a Kuma peer expects (kds-wire 2.2) */
export function typesAsked(messages: readonly Buffer[]): Set<string> {
  const asked = messages.map(decodeDeltaRequest).filter(({ responseNonce }) => responseNonce === '');
  for (const { typeUrl, subscribe, initialResourceVersions } of asked)
    if (subscribe.join() !== '*' || initialResourceVersions.size > 0) throw new Error(`${typeUrl} is not asked for as a whole`);
  return new Set(asked.map(({ typeUrl }) => typeUrl));
}

/** ACKs and NACKs as text, in no particular order. */
export function answersAmong(messages: readonly Buffer[]): string[] {
  const answers = messages.filter((bytes) => decodeDeltaRequest(bytes).responseNonce !== '');
  return answers.map((bytes) => bytes.toString('base64')).sort();
}

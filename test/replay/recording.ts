// The recorded session (test/wire/vectors/README.md) as frames in order of arrival, decoded from the bytes on the wire.
// Invariant: the decoded text in the recording, which is for people, is never read.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeKumaResource, type WireResource } from '../../src/resource/codec.ts';
import { typeOf, type TypeInfo } from '../../src/resource/type-registry.ts';
import { decodeDeltaRequest, decodeDeltaResponse, type DeltaRequest, type DeltaResponse } from '../../src/wire/kds-messages.ts';

export const vectorsFolder = join(import.meta.dirname, '../wire/vectors');

export const zones = ['zone-1', 'zone-2'] as const;
export type Zone = (typeof zones)[number];
export const sides = ['global', ...zones] as const;
export type Side = (typeof sides)[number];
export type Rpc = 'GlobalToZoneSync' | 'ZoneToGlobalSync';

type Place = {
  /** Line in the file, from 1. */
  readonly line: number;
  readonly zone: Zone;
  readonly rpc: Rpc;
};
type Message = Place & { readonly from: 'zone' | 'global'; readonly bytes: Buffer };
export type OpenFrame = Place & { readonly kind: 'open' };
export type RequestFrame = Message & { readonly kind: 'request'; readonly request: DeltaRequest };
export type ResponseFrame = Message & { readonly kind: 'response'; readonly response: DeltaResponse };
export type Frame = OpenFrame | RequestFrame | ResponseFrame;

type Line = { zone: Zone; rpc: Rpc } & (
  | { event: 'open' }
  | { from: 'zone' | 'global'; message: 'DeltaDiscoveryRequest' | 'DeltaDiscoveryResponse'; base64: string }
);

export const frames: readonly Frame[] = readFileSync(join(vectorsFolder, 'kds-session.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((text, index) => frameOf(JSON.parse(text) as Line, index + 1));

export const requests = frames.filter((frame) => frame.kind === 'request');
export const responses = frames.filter((frame) => frame.kind === 'response');

/** The sender of a message. */
export function senderOf({ from, zone }: Pick<Message, 'from' | 'zone'>): Side {
  return from === 'global' ? 'global' : zone;
}

/** The frame of a line. @throws Error when it is not a response */
export function responseAt(line: number): ResponseFrame {
  const frame = frames[line - 1];
  if (frame?.kind !== 'response') throw new Error(`line ${String(line)} of the recording is no response`);
  return frame;
}

export type SentResource = WireResource & {
  readonly info: TypeInfo;
  /** `<name>.<mesh>` */
  readonly wireName: string;
  readonly version: string;
};

/** @throws Error when the name of a resource differs from its wire name */
export function resourcesOf({ typeUrl, resources }: DeltaResponse): SentResource[] {
  const info = typeOf(typeUrl);
  return resources.map(({ name: wireName, version, resource }) => {
    const decoded = decodeKumaResource(info, resource);
    if (`${decoded.name}.${decoded.mesh}` !== wireName) throw new Error(`${wireName} calls itself ${decoded.name}`);
    return { ...decoded, info, wireName, version };
  });
}

function frameOf(line: Line, number: number): Frame {
  const { zone, rpc } = line;
  const place = { line: number, zone, rpc };
  if ('event' in line) return { ...place, kind: 'open' };
  const bytes = Buffer.from(line.base64, 'base64');
  const message = { ...place, from: line.from, bytes };
  return line.message === 'DeltaDiscoveryRequest'
    ? { ...message, kind: 'request', request: decodeDeltaRequest(bytes) }
    : { ...message, kind: 'response', response: decodeDeltaResponse(bytes) };
}

// The codec and the names against a recorded session between a real Kuma global and two real Kuma zones (test/wire/vectors/README.md).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeKumaResource, encodeKumaResource, wireVersion } from '../../src/resource/codec.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { displayNameOf, label } from '../../src/resource/labels.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import {
  decodeDeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
  encodeDeltaResponse,
  encodeResourceEntry,
  KUMA_RESOURCE_TYPE_URL,
} from '../../src/wire/kds-messages.ts';
import { decodeStruct, encodeStruct } from '../../src/wire/struct.ts';

type RequestFrame = {
  readonly message: 'DeltaDiscoveryRequest';
  readonly decoded: { node: { id: string; metadata?: JsonObject }; type: string; subscribe?: string[]; nonce: string };
  readonly base64: string;
};
type ResponseFrame = {
  readonly message: 'DeltaDiscoveryResponse';
  readonly decoded: {
    type_url: string;
    nonce: string;
    resources: { name: string; version: string; meta: { name: string; labels?: Record<string, string> } }[];
    removed_resources: string[];
  };
  readonly base64: string;
};
type Line = RequestFrame | ResponseFrame | { readonly event: 'open' };

const lines = readFileSync(join(import.meta.dirname, 'vectors/kds-session.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Line);
const frames = lines.filter((line) => 'message' in line);
const requests = frames.filter((frame) => frame.message === 'DeltaDiscoveryRequest');
const responses = frames.filter((frame) => frame.message === 'DeltaDiscoveryResponse');

const bytesOf = (frame: { base64: string }): Buffer => Buffer.from(frame.base64, 'base64');
const resources = responses.flatMap((frame) => {
  const { typeUrl, resources: sent } = decodeDeltaResponse(bytesOf(frame));
  return sent.map((resource) => ({ ...resource, info: typeOf(typeUrl) }));
});

describe('the recorded session', () => {
  it('has the frames that the tests below need', () => {
    expect(requests).toHaveLength(209);
    expect(responses).toHaveLength(111);
    expect(resources).toHaveLength(58);
  });

  it('has requests that decode to the recorded fields', () => {
    for (const frame of requests) {
      const request = decodeDeltaRequest(bytesOf(frame));
      const { node, type, subscribe, nonce } = frame.decoded;
      const { id, metadata } = request.node;
      expect(request).toMatchObject({ typeUrl: type, responseNonce: nonce });
      expect({ id, ...(metadata !== undefined && { metadata: decodeStruct(metadata) }) }).toMatchObject(node);
      expect(request.subscribe).toEqual(subscribe ?? []);
    }
  });

  it('has requests that encode to the same bytes', () => {
    for (const frame of requests) {
      const request = decodeDeltaRequest(bytesOf(frame));
      expect(encodeDeltaRequest(request).equals(bytesOf(frame))).toBe(true);
      const { metadata } = request.node;
      if (metadata === undefined) continue;
      // A map, whose order is free; ours is by key and the recording's is not.
      const encoded = encodeStruct(decodeStruct(metadata));
      expect(encoded).toHaveLength(metadata.length);
      expect(decodeStruct(encoded)).toEqual(decodeStruct(metadata));
    }
  });

  it('has responses that decode to the recorded fields and encode to the same bytes', () => {
    for (const frame of responses) {
      const response = decodeDeltaResponse(bytesOf(frame));
      expect(response.typeUrl).toBe(frame.decoded.type_url);
      expect(response.nonce).toBe(frame.decoded.nonce);
      expect(response.removedResources).toEqual(frame.decoded.removed_resources);
      expect(response.resources.map(({ name, version }) => ({ name, version }))).toEqual(
        frame.decoded.resources.map(({ name, version }) => ({ name, version })),
      );
      const entries = response.resources.map(({ name, version, resource }) =>
        encodeResourceEntry({ name, version, kumaResource: resource }),
      );
      const { typeUrl, nonce, controlPlane, removedResources: removed } = response;
      expect(encodeDeltaResponse({ typeUrl, nonce, controlPlane, entries, removed }).equals(bytesOf(frame))).toBe(true);
    }
  });

  it('has resources that encode to the same bytes and so have the same versions', () => {
    for (const { info, resource, version, anyTypeUrl } of resources) {
      expect(anyTypeUrl).toBe(KUMA_RESOURCE_TYPE_URL);
      const again = encodeKumaResource(info, decodeKumaResource(info, resource));
      expect(again.toString('latin1')).toBe(Buffer.from(resource).toString('latin1'));
      expect(wireVersion(again)).toBe(version);
    }
  });

  it('has resources with names that follow from their labels', () => {
    for (const { info, resource, name } of resources) {
      const decoded = decodeKumaResource(info, resource);
      const { mesh, labels } = decoded;
      const hashed = hashName({
        mesh,
        name: displayNameOf(decoded),
        zone: labels[label.zone],
        namespace: labels[label.namespace],
      });
      expect(name).toBe(`${info.kds.skipHash ? decoded.name : hashed}.${mesh}`);
      expect(decoded.name).toBe(name.slice(0, name.lastIndexOf('.')));
    }
  });
});

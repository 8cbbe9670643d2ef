// Requests with as many violations as fit, against a global with a heap of 512 MB: it answers and stays up.
import { Client, Metadata, credentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { MAX_APPLY_BYTES } from '../../src/api/apply-routes.ts';
import { feature, zoneHeaderFeatures } from '../../src/kds/protocol/features.ts';
import { syncService } from '../../src/kds/protocol/services.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { label } from '../../src/resource/labels.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { Json } from '../../src/resource/types.ts';
import { decodeDeltaRequest, encodeDeltaResponse, encodeResourceEntry } from '../../src/wire/kds-messages.ts';
import { startFleet, type Fleet } from '../support/control-plane.ts';

const MEBIBYTE = 1024 * 1024;

describe('a global with a heap of 512 MB', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), [], {
      env: { NODE_OPTIONS: '--max-old-space-size=512' },
      isQuiet: true,
    });
  });
  afterAll(() => fleet.stop());

  async function expectToServe(): Promise<void> {
    fleet.global.assertRunning();
    const spec = { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: `${String(Date.now())}ms` } }] };
    const body = { type: 'MeshTimeout', mesh: 'default', name: 'good', spec };
    expect([200, 201]).toContain(await fleet.global.put('/meshes/default/meshtimeouts/good', body));
  }

  async function apply(body: string): Promise<{ status: number; text: string }> {
    const answer = await fetch(`http://127.0.0.1:${String(fleet.global.api)}/_apply`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    return { status: answer.status, text: await answer.text() };
  }

  const document = (spec: string, name = 't'): string =>
    `{"type":"MeshTimeout","mesh":"default","name":"${name}","spec":${spec}}`;
  const list = (item: string, bytes: number): string =>
    `[${Array.from({ length: Math.floor(bytes / (item.length + 1)) }, () => item).join()}]`;
  /** Documents that fill the largest body that is taken. */
  const filled = (one: (name: string) => string): string => {
    const size = one('t0000000').length + 1;
    return `[${Array.from({ length: Math.floor((MAX_APPLY_BYTES - 2) / size) }, (_, index) => one(`t${String(index).padStart(7, '0')}`)).join()}]`;
  };

  it.each<[string, number, () => string]>([
    [
      'documents of a mebibyte, each full of items that are none',
      400,
      () => filled((name) => document(`{"to":${list('1', MEBIBYTE - 200)}}`, name)),
    ],
    [
      'documents of a mebibyte, each full of objects with an unknown key',
      400,
      () => filled((name) => document(`{"to":${list(`{"a":"${'x'.repeat(40)}"}`, MEBIBYTE - 200)}}`, name)),
    ],
    [
      'documents of a mebibyte with more than a million objects',
      413,
      () => filled((name) => document(`{"to":${list('{"a":1}', MEBIBYTE - 200)}}`, name)),
    ],
    [
      'small documents, each with a fault',
      400,
      () => filled((name) => document(`{"to":[${list('1', 300).slice(1, -1)}]}`, name)),
    ],
  ])('answers 32 MiB of %s with %i', async (_, expected, body) => {
    const answer = await apply(body());
    expect(answer.status).toBe(expected);
    expect(answer.text.length).toBeLessThan(MEBIBYTE);
    await expectToServe();
  });

  it('refuses a message of a zone with many violations, and sends the zone the reasons', async () => {
    const resource = (name: string, spec: Record<string, Json>): Buffer => {
      const stored = hashName({ mesh: 'default', name, zone: 'east' });
      const labels = { [label.displayName]: name };
      const row = { name: stored, mesh: 'default', labels, spec, status: undefined };
      return Buffer.from(
        encodeResourceEntry({
          name: `${stored}.default`,
          version: '',
          kumaResource: encodeKumaResource(typeOf('MeshTimeout'), row),
        }),
      );
    };
    const broken = { to: Array.from({ length: 900_000 }, () => 1) };
    const entries = ['a', 'b'].map((name) => resource(name, broken));
    const message = encodeDeltaResponse({ typeUrl: 'MeshTimeout', nonce: 'full', controlPlane: 'east', entries, removed: [] });
    expect(message.length).toBeGreaterThan(3.4 * MEBIBYTE);
    const client = new Client(fleet.kds, credentials.createInsecure(), { 'grpc.max_send_message_length': -1 });
    try {
      const metadata = new Metadata();
      metadata.set('client-id', 'east');
      for (const name of zoneHeaderFeatures)
        if (name !== feature.bundles && name !== feature.inStep) metadata.add('features', name);
      const same = (bytes: Buffer): Buffer => bytes;
      const call = client.makeBidiStreamRequest(syncService.zoneToGlobalSync.path, same, same, metadata);
      call.on('error', () => undefined);
      const refusal = await new Promise<string>((resolve, reject) => {
        call.on('data', (bytes: Buffer) => {
          const { typeUrl, responseNonce, errorDetail } = decodeDeltaRequest(bytes);
          if (responseNonce === 'full') resolve(errorDetail?.message ?? 'accepted');
          else if (typeUrl === 'MeshTimeout' && responseNonce === '') call.write(message);
        });
        call.once('status', ({ code, details }) => reject(new Error(`${status[code]}: ${details}`)));
      });
      expect(refusal).toMatch(/spec\.to\[0\]/);
      expect(refusal.length).toBeLessThan(MEBIBYTE);
      call.cancel();
    } finally {
      client.close();
    }
    await expectToServe();
  });
});

// A zone sends resources with the labels of another zone. Every type is stored as the sender's, and rows of others do not change.
import { describe, expect, it } from 'vitest';
import { globalConsumes } from '../../src/kds/protocol/rules.ts';
import { syncService } from '../../src/kds/protocol/services.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import type { TypeInfo } from '../../src/resource/type-registry.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { decodeDeltaRequest, encodeDeltaResponse, encodeResourceEntry, type DeltaRequest } from '../../src/wire/kds-messages.ts';
import { open, serverUnderAttack, type Call } from './server-under-attack.ts';

const forged = { 'kuma.io/display-name': 'forged', 'kuma.io/zone': 'west', 'kuma.io/origin': 'global', team: 'blue' };
const pinned = { 'kuma.io/display-name': 'forged', 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone', team: 'blue' };
const east = { type: 'Zone', mesh: '', name: 'east' };
const west = { type: 'Zone', mesh: '', name: 'west' };
const specs: Readonly<Record<string, JsonObject>> = {
  Dataplane: { networking: { address: '192.0.2.1', inbound: [{ port: 80 }] } },
};

describe('a server with hostile peers', () => {
  const server = serverUnderAttack();
  const meshOf = ({ scope }: TypeInfo): string => (scope === 'Mesh' ? 'default' : '');

  /** Sends one resource, and gives what global answers. */
  async function send(call: Call, info: TypeInfo, name: string, nonce: string): Promise<DeltaRequest> {
    const mesh = meshOf(info);
    const status = info.hasStatus ? {} : undefined;
    const kumaResource = encodeKumaResource(info, { name, mesh, labels: forged, spec: specs[info.name] ?? {}, status });
    const entry = encodeResourceEntry({ name: `${name}.${mesh}`, version: '', kumaResource });
    const answer = new Promise<DeltaRequest>((resolve) => {
      const take = (bytes: Buffer): void => {
        const request = decodeDeltaRequest(bytes);
        if (request.responseNonce !== nonce) return;
        call.off('data', take);
        resolve(request);
      };
      call.on('data', take);
    });
    call.write(encodeDeltaResponse({ typeUrl: info.name, nonce, controlPlane: 'west', entries: [entry], removed: [] }));
    return await answer;
  }

  const rowOf = async (info: TypeInfo, name: string): Promise<Resource | undefined> =>
    await server.store.get({ type: info.name, mesh: meshOf(info), name });

  it.each(globalConsumes)('stores a $name with the labels of another zone as a row of the caller', async (info) => {
    const call = open(server.dial(), syncService.zoneToGlobalSync, 'east');
    const name = hashName({ mesh: meshOf(info), name: 'forged', zone: 'east' });
    expect((await send(call, info, name, '1')).errorDetail).toBeNull();
    const row = await rowOf(info, name);
    expect(row).toMatchObject({ owner: east, syncVersion: expect.any(String) as string });
    expect(row?.labels).toEqual(pinned);
    call.cancel();
  });

  it.each(globalConsumes)('keeps a $name of another zone or of global when the caller sends its name', async (info) => {
    const key = { type: info.name, mesh: meshOf(info) };
    const labels = { 'kuma.io/zone': 'west', 'kuma.io/origin': 'zone' };
    const put = { op: 'put' as const, spec: specs[info.name] ?? {} };
    await server.store.write({ op: 'put', key: west, labels: {}, spec: {} });
    await server.store.write({ ...put, key: { ...key, name: 'of-west' }, labels, owner: west, syncVersion: 'v' });
    await server.store.write({ ...put, key: { ...key, name: 'of-global' }, labels: {} });
    const call = open(server.dial(), syncService.zoneToGlobalSync, 'east');
    for (const [index, name] of ['of-west', 'of-global'].entries()) {
      const before = await rowOf(info, name);
      const { errorDetail } = await send(call, info, name, String(index + 1));
      expect(errorDetail?.message).toContain(`name="${name}"`);
      expect(await rowOf(info, name)).toEqual(before);
    }
    // Others would be sent it.
    await server.store.write({ op: 'delete', key: { ...key, name: 'of-global' } });
    call.cancel();
  });
});

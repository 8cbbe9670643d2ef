// KDS sends resources and Secrets as they are (decision 93), and to those peers alone that need them: a zone that is no member of a mesh gets
// no private key of it in any form of the wire, and no Secret leaves its zone. The same peers are shown to get what they need.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { globalSendRules, isVisibleTo, zoneSendRules, type SendRules } from '../../src/kds/protocol/rules.ts';
import { resourceTypes } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { ANY_ZONE, type ZoneProfile } from '../../src/resource/zone-profile.ts';
import { keyFinds } from '../support/key-finds.ts';
import { TinyStore } from '../support/tiny-store.ts';

const FORMS = ['native', 'kuma', 'legacy'] as const;
const { certPem, keyPem } = await createSelfSigned('client', ['one'], new Date());
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const inline = (value: string): JsonObject => ({ type: 'InsecureInline', insecureInline: { value } });

/** Resources of mesh shop with the key, beside Secrets of control planes. */
const rows: readonly [type: string, mesh: string, name: string, spec: JsonObject][] = [
  ['Mesh', '', 'shop', {}],
  ['Mesh', '', 'other', {}],
  ['Secret', 'shop', 'pair', { data: base64(certPem + keyPem) }],
  ['Secret', 'shop', 'identity-private-key', { data: base64(keyPem) }],
  ['GlobalSecret', '', 'user-token-signing-key-1', { data: base64(keyPem) }],
  ['GlobalSecret', '', 'envoy-admin-ca', { data: base64(certPem + keyPem) }],
  ['GlobalSecret', '', 'inter-cp-ca', { data: base64(certPem + keyPem) }],
  [
    'MeshExternalService',
    'shop',
    'bank',
    {
      match: { type: 'HostnameGenerator', port: 443, protocol: 'http' },
      endpoints: [{ address: 'bank.example', port: 443 }],
      tls: { enabled: true, verification: { mode: 'SkipCA', clientCert: inline(certPem), clientKey: inline(keyPem) } },
    },
  ],
];

let store: TinyStore;
let stop = new AbortController();
beforeAll(async () => {
  store = new TinyStore();
  for (const [type, mesh, name, spec] of rows) await store.write({ op: 'create', key: { type, mesh, name }, labels: {}, spec });
});
afterEach(() => {
  stop.abort();
  stop = new AbortController();
});

/** The types of the resources with the key that a peer is sent, in any form. */
async function sentTo(rules: SendRules, profile: ZoneProfile): Promise<string[]> {
  const changelog = new Changelog(store, rules, createLogger('silent'));
  void changelog.run(stop.signal);
  await changelog.ready;
  const found = new Set<string>();
  for (const log of changelog.logs())
    for (const { entry } of log.since(0)) {
      if (entry === null || !isVisibleTo(entry.visibility, { zone: 'west', features: null, profileOf: () => profile })) continue;
      for (const form of FORMS) {
        const encoding = entry.in(form);
        if ('bytes' in encoding && keyFinds(Buffer.from(encoding.bytes).toString('latin1'), keyPem).length > 0)
          found.add(log.type);
      }
    }
  return [...found].sort();
}

describe('from global', () => {
  it('a zone that is a member of the mesh gets its Secrets and resources, and no key of a control plane', async () => {
    expect(await sentTo(globalSendRules(), ANY_ZONE)).toEqual(['MeshExternalService', 'Secret']);
  });

  it('a zone that is no member of it gets none', async () => {
    expect(await sentTo(globalSendRules(), { ...ANY_ZONE, meshes: new Set(['other']) })).toEqual([]);
  });
});

it('from a zone no Secret goes to global', async () => {
  expect(await sentTo(zoneSendRules({ zone: 'east' }), ANY_ZONE)).not.toContain('Secret');
  const secrets = resourceTypes.filter(({ name }) => ['Secret', 'GlobalSecret'].includes(name));
  expect(secrets.map(({ kds }) => [kds.zoneToGlobal, kds.acrossZones])).toEqual(secrets.map(() => [false, false]));
});

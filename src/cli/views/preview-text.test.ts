import { describe, expect, it } from 'vitest';
import type { Answer } from '../../answers/answers.ts';
import { previewText } from './preview-text.ts';

type Preview = Answer<'Preview'>;
const meta = { type: 'Dataplane', mesh: 'shop', name: 'cart-x', labels: { 'kuma.io/display-name': 'cart' } };
const online = { state: 'online', connection: 'online', since: null, pending: [], lagMs: 0, reason: '' } as const;
const offline = { ...online, state: 'offline', connection: 'offline', reason: 'not connected for 3 m' } as const;
const target = (to: string, zone: typeof online | typeof offline = online, more: object = {}) => ({
  ...{ to, isSent: true, name: 'slow-x', reason: 'it is for all zones', zone },
  ...more,
});
const item = (targets: Preview['items'][number]['sync']['targets'], more: object = {}): Preview['items'][number] => ({
  ...{ type: 'MeshTimeout', mesh: 'shop', name: 'slow', result: 'created', version: 0, sentTo: 2 },
  sync: { resource: { ...meta, type: 'MeshTimeout' }, storedName: 'slow', from: 'global', targets },
  ...more,
});
const none = { candidates: 0, compared: 0, changed: 0, items: [] };
const origins = [{ kri: 'kri_mt_shop___slow_', name: 'slow', ruleIndex: 0 }];

describe('the text of a preview', () => {
  it('puts zones with one reason in one line, and names those that cannot take it now', () => {
    const kept = target('north', online, { isSent: false, name: null, reason: 'it comes from this zone' });
    const text = previewText({ items: [item([target('east'), target('west', offline), kept])], proxies: none });
    expect(text.split('\n')).toEqual([
      'MeshTimeout slow would be created',
      '  goes to east, west, as slow-x: it is for all zones',
      '  does not go to north: it comes from this zone',
      '  west cannot take it now: not connected for 3 m',
      '',
      'no proxy changes: the documents touch none',
    ]);
  });

  it('lists the zones that lose a deleted resource, the resources deleted with it, and the proxies that go', () => {
    const kept = target('north', online, { isSent: false, name: null, reason: 'it comes from this zone' });
    const more = { result: 'deleted', takes: [{ type: 'MeshTimeout', total: 2 }] };
    const gone = { kri: 'kri_dp_shop_east__cart_', zone: 'east', isNew: false, isGone: true, total: 0, changes: [] };
    const proxies = { candidates: 1, compared: 1, changed: 1, items: [{ dataplane: { ...meta }, ...gone }] };
    expect(previewText({ items: [item([target('east'), kept], { ...more, sentTo: 1 })], proxies }).split('\n')).toEqual([
      'MeshTimeout slow would be deleted',
      '  with its 2 MeshTimeout',
      '  east would lose slow-x: it is for all zones',
      '',
      '1 of 1 proxy would change',
      '',
      'cart in east, which would be gone',
    ]);
  });

  it('counts the values of a proxy whose values are not listed', () => {
    const proxy = {
      dataplane: { ...meta },
      kri: 'kri_dp_shop_east__cart_',
      zone: 'east',
      isNew: false,
      total: 4_500,
      changes: [],
    };
    const proxies = { candidates: 1, compared: 1, changed: 1, items: [proxy] };
    expect(
      previewText({ items: [item([])], proxies })
        .split('\n')
        .at(-1),
    ).toBe('cart in east: 4500 values');
  });

  it('counts zones that are not listed, and shows warnings and the needs of a zone', () => {
    const items = [item([target('east', online, { needs: 'the capability x' })], { sentTo: 3, warnings: ['is empty'] })];
    expect(previewText({ items, proxies: none }).split('\n').slice(0, 5)).toEqual([
      'MeshTimeout slow would be created',
      '  warning: is empty',
      '  goes to east, as slow-x: it is for all zones',
      '    needs the capability x',
      '  and 2 more zones',
    ]);
  });

  it('says that no zone has joined, and that a document changes nothing', () => {
    const [first, second] = previewText({ items: [item([], { result: 'unchanged', sentTo: 0 })], proxies: none }).split('\n');
    expect([first, second]).toEqual(['MeshTimeout slow unchanged', '  no zone has joined yet']);
  });

  it('shows each value before and after, with its policy', () => {
    const changes: Preview['proxies']['items'][number]['changes'] = [
      {
        ...{ on: 'outbound' as const, kri: 'kri_msvc_shop_east__catalog_main', kind: 'MeshTimeout', path: 'connectionTimeout' },
        ...{ before: null, after: { value: '3s', origins } },
      },
      {
        ...{ on: 'route' as const, kri: 'kri_msvc_shop_east__catalog_main', route: 'kri_mhttpr_shop___api_', kind: 'MeshRetry' },
        ...{ path: 'http.numRetries', before: { value: 5, origins }, after: null },
      },
    ];
    const items = [{ dataplane: meta, kri: 'kri_dp_shop_east__cart_', zone: 'east', isNew: true, total: 5, changes }];
    const text = previewText({ items: [], proxies: { candidates: 9, compared: 3, changed: 1, items } });
    expect(text.split('\n').slice(1)).toEqual([
      '1 of 3 compared of 9 proxies would change',
      '',
      'cart in east, which is new',
      expect.stringMatching(/^ON +FIELD +BEFORE +AFTER$/),
      expect.stringMatching(/^catalog \(east\) +MeshTimeout connectionTimeout +- +3s \(slow\)$/),
      expect.stringMatching(/^api +MeshRetry http\.numRetries +5 \(slow\) +-$/),
      'and 3 more values',
    ]);
  });
});

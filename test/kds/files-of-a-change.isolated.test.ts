// The files of src that a change passes on its way, as docs/flow.md lists them: from a row that psql changes to the bytes of a
// response, and from a response to the table of a zone.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { Changelog } from '../../src/kds/log/changelog.ts';
import { InitialSyncLimiter } from '../../src/kds/admission/initial-sync-limiter.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { globalSendRules, zoneReceiveRules } from '../../src/kds/protocol/rules.ts';
import { Sender } from '../../src/kds/sender/sender.ts';
import { SharedMessages } from '../../src/kds/log/shared-messages.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { openDatabase, type Database } from '../../src/store/database.ts';
import { SqlStore } from '../../src/store/sql-store.ts';
import { decodeDeltaResponse, encodeDeltaResponse, encodeResourceEntry } from '../../src/wire/kds-messages.ts';
import { embeddedFolder } from '../support/embedded-store.ts';
import { filesRun } from '../support/files-run.ts';
import { firstRequest } from './first-request.ts';

const TYPE = 'MeshTimeout';
const key = { type: TYPE, mesh: 'default', name: 'slow' };
const log = createLogger('silent');
const specOf = (n: number) => ({ to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: `${String(n)}s` } }] });

let database: Database;
let store: SqlStore;
// A store of its own for each: a feed that another test began would go on.
beforeEach(async () => {
  database = await openDatabase({ type: 'embedded', path: await embeddedFolder() }, { clock: systemClock, log });
  store = new SqlStore(database, log);
  await store.write({ op: 'put', key, labels: { 'kuma.io/origin': 'global' }, spec: specOf(1) });
});
afterEach(async () => store.close());

/** Files that run and do not count, each for a reason: none of them decides where an ordinary change goes, or when. */
const NOT_COUNTED: readonly RegExp[] = [
  // Values: durations, steps, texts of errors, one resource and its parts, one field of a message, one row of a statement.
  /^(base|resource|schema|policies|validation)\//,
  /^wire\/(?!kds-messages)/,
  /^store\/resource-row/,
  // They count errors of the database, and look at the disk of an embedded one.
  /^store\/(store-health|disk-room)/,
  // It reuses the bytes of an equal response to another peer.
  /^kds\/log\/shared-messages/,
  // They hold rows without a free name, refused resources, problems, first states, and the bits of a subscription.
  /^kds\/[a-z]+\/(waiting-rows|nacked-resources|named-items|problem-reports|initial-sync-limiter|bitset)/,
];

const counted = (files: readonly string[]): string[] =>
  files.filter((file) => !NOT_COUNTED.some((pattern) => pattern.test(file)));

/** The files that a section of docs/flow.md lists. */
function listed(title: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/flow.md'), 'utf8');
  const section = text.split(/^#+ /m).find((part) => part.startsWith(`${title}\n`)) ?? '';
  return [...section.matchAll(/^\| `src\/([^`]+)`/gm)].map(([, file = '']) => file).sort();
}

/** As `psql` does: a statement that no code of src sends. */
async function change(n: number): Promise<void> {
  await sql`update resources set spec = ${JSON.stringify(specOf(n))} where type = ${TYPE} and name = 'slow'`.execute(database.db);
}

it('lists the files from a row that psql changes to the bytes of a response', async () => {
  const stop = new AbortController();
  const changelog = new Changelog(store, globalSendRules(), log);
  const running = changelog.run(stop.signal);
  const messages = new SharedMessages(systemClock);
  let onSent: (message: Buffer) => void = () => undefined;
  const sender = new Sender({
    ...{ peer: 'east', streamId: 's', identifier: 'global', changelog, zones: null, maxMessageBytes: 10_485_760, log },
    initialSyncLimiter: new InitialSyncLimiter(systemClock),
    encode: (parts) => messages.encode(parts),
    send: (message) => onSent(message),
    fail: () => undefined,
    observe: () => undefined,
    clock: systemClock,
  });
  await sender.ready();
  /** Resolves with the next response, which is acknowledged. */
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      onSent = (message) => {
        const { nonce: responseNonce } = decodeDeltaResponse(message);
        sender.handle({ ...firstRequest(TYPE), node: { id: 'east' }, responseNonce });
        resolve();
      };
    });
  const first = next();
  sender.handle(firstRequest(TYPE, { features: ['hash-suffix', 'meridian-v1'] }));
  await first;
  for (let n = 2; n < 10; n += 1) {
    const sent = next();
    await change(n);
    await sent;
  }
  const files = await filesRun(async (end) => {
    const sent = new Promise<void>((resolve) => {
      onSent = () => {
        end();
        resolve();
      };
    });
    await change(99);
    await sent;
  });
  stop.abort();
  sender.close();
  await running;
  expect(counted(files)).toEqual(listed('From a row to the wire'));
  expect(counted(files).length).toBeLessThanOrEqual(12);
});

it('lists the files from a response to the table of a zone', async () => {
  const response = (n: number): Buffer => {
    const resource = {
      name: 'slow',
      mesh: 'default',
      labels: { 'kuma.io/origin': 'global' },
      spec: specOf(n),
      status: undefined,
    };
    const kumaResource = encodeKumaResource(typeOf(TYPE), resource);
    const entry = encodeResourceEntry({ name: 'slow.default', version: String(n), kumaResource });
    return encodeDeltaResponse({ typeUrl: TYPE, nonce: String(n), controlPlane: 'global', entries: [entry], removed: [] });
  };
  let onSent: () => void = () => undefined;
  const receiver = new Receiver({
    ...{ zone: 'east', peer: 'global', streamId: 's', rules: zoneReceiveRules(), store, resume: true, log },
    node: { version: '0', instanceId: 'i', config: '' },
    maxMessageBytes: 10_485_760,
    validate: validateResource,
    send: () => onSent(),
    observe: () => undefined,
    clock: systemClock,
  });
  await receiver.start();
  for (let n = 100; n < 110; n += 1) await receiver.take(response(n));
  const next = response(200);
  const files = await filesRun(async (end) => {
    onSent = end;
    await receiver.take(next);
  });
  receiver.close();
  expect((await store.get(key))?.spec).toEqual(specOf(200));
  expect(counted(files)).toEqual(listed('From a response to the table of a zone'));
  expect(counted(files).length).toBeLessThanOrEqual(14);
});

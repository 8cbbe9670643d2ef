// A changelog of global over a store in memory, for the tests of it.
import { afterEach } from 'vitest';
import { createLogger } from '../../base/log.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { Changelog, type Source } from './changelog.ts';
import { globalSendRules } from '../protocol/rules.ts';

export const log = createLogger('silent');
let stop = new AbortController();

/** Follows the source until the end of the test. */
export function start(source: Source): Changelog {
  stop = new AbortController();
  const changelog = new Changelog(source, globalSendRules(), log);
  void changelog.run(stop.signal);
  return changelog;
}

afterEach(() => stop.abort());

export async function put(store: TinyStore, type: string, name: string, labels: Record<string, string> = {}): Promise<void> {
  const key = { type, mesh: type === 'Mesh' ? '' : 'default', name };
  await store.write({ op: 'put', key, labels, spec: {} });
}

/** The wire names of the log, from the oldest; a removal has a `-`. */
export const namesOf = (changelog: Changelog, type: string): string[] =>
  [...(changelog.logOf(type)?.since(0) ?? [])].map(({ wireName, entry }) => (entry === null ? `-${wireName}` : wireName));

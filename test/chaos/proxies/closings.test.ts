// The random edits excuse what docs/long-connections.md lists, and nothing else.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CLOSINGS } from './closings.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/long-connections.md'), 'utf8');
/** The rows with an edit that closes connections, and whether of HTTP and of TCP. */
const listed = [...page.matchAll(/^\| (.+?) +\| (.+?) +\| (.+?) +\|$/gm)]
  .map(([, row = '', http = '', tcp = '']) => ({ row, http: http.startsWith('closes'), tcp: tcp.startsWith('closes') }))
  .filter(({ http, tcp }) => http || tcp);

it('the random edits close what the page lists, and nothing else', () => {
  const excused = new Map<string, { row: string; http: boolean; tcp: boolean }>();
  for (const { row, spoken } of Object.values(CLOSINGS)) {
    const { http = false, tcp = false } = excused.get(row) ?? {};
    excused.set(row, { row, http: http || spoken.includes('stream'), tcp: tcp || spoken.includes('tcp') });
  }
  const byRow = (one: { row: string }, other: { row: string }): number => one.row.localeCompare(other.row);
  expect([...excused.values()].sort(byRow)).toEqual(listed.sort(byRow));
});

it('each of its reasons is written below', () => {
  const reasons = [...page.matchAll(/closes \((\d)\)/g)].map(([, reason = '']) => reason);
  expect(reasons.filter((reason) => !new RegExp(`^${reason}\\. `, 'm').test(page))).toEqual([]);
});

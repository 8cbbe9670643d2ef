// SPEC.md is true as far as a test can tell: every file and every test that it names exists.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const spec = readFileSync(join(import.meta.dirname, 'SPEC.md'), 'utf8');
const links = [...spec.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, text = '', path = '']) => ({
  text,
  path: join(import.meta.dirname, path),
}));

describe('SPEC.md', () => {
  it('names files that exist', () => {
    expect(links.filter(({ path }) => !existsSync(path)).map(({ path }) => path)).toEqual([]);
  });

  it('names tests that exist', () => {
    const named = links.filter(({ text, path }) => text.startsWith('`') && /\.ts$/.test(path) && text.includes(' '));
    expect(named.length).toBeGreaterThan(30);
    const missing = named.filter(({ text, path }) => !readFileSync(path, 'utf8').includes(text.replaceAll('`', '')));
    expect(missing.map(({ text }) => text)).toEqual([]);
  });

  it('has a line for each of the 26 scenarios', () => {
    const scenarios = spec.slice(spec.indexOf("## The engine's scenarios"), spec.indexOf("## Issues of Kuma's users"));
    const numbers = new Set([...scenarios.matchAll(/^\| (\d+) +\| /gm)].map(([, number]) => Number(number)));
    expect([...numbers].sort((x, y) => x - y)).toEqual(Array.from({ length: 26 }, (_, index) => index + 1));
  });

  it('names a test for each issue of Kuma', () => {
    const issues = spec.slice(spec.indexOf("## Issues of Kuma's users"));
    const named = [...issues.matchAll(/\[`([^`]+)`\]/g)].map(([, text = '']) => text);
    const numbers = ['9455', '13592', '14486', '3545', '13624', '11062', '16407', '12893', '11410', '8327', '5870'];
    expect(numbers.filter((number) => !named.some((text) => text.includes(number)))).toEqual([]);
    expect(named.some((text) => text.includes('after their restart new resources are synced'))).toBe(true);
  });
});

// The fenced blocks of a page of docs, so that a test runs what people copy.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The blocks of one language in one section, in their order.
 * @param page a file in docs @param section its heading @throws Error without one
 */
export function documentedBlocks(page: string, section: string, language: 'sh' | 'sql' | 'yaml'): [string, ...string[]] {
  const text = readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8');
  const part = text.split(/^## /m).find((one) => one.startsWith(`${section}\n`)) ?? '';
  const blocks = [...part.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, block = '']) => block);
  const [first, ...others] = blocks;
  if (first === undefined) throw new Error(`docs/${page} has no block of ${language} in the section "${section}"`);
  return [first, ...others];
}

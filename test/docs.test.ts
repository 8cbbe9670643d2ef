// Compares the pages for people with the code: every file, configuration key, metric and command line that they name exists.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { measureRequests } from '../src/http/http-metrics.ts';
import { envName } from '../src/base/config.ts';
import { configSchema } from '../src/base/config-schema.ts';
import { createExpiryMetrics } from '../src/base/expiry-metrics.ts';
import { createInfoMetric, createLeaderMetric, createRegistry, createResourcesCountMetric } from '../src/base/process-metrics.ts';
import { createProgram } from '../src/cli/program.ts';
import { createInsightsMetric } from '../src/global/insights-metric.ts';
import { createWaitingMetric } from '../src/global/waiting-metric.ts';
import { createConflictMetric } from '../src/peering/conflict-metric.ts';
import { OpenSenders } from '../src/kds/sender/open-senders.ts';
import { createSyncMetrics } from '../src/kds/sync-metrics.ts';
import { systemClock } from '../src/base/clock.ts';
import { createPlaintextMetric } from '../src/proxy-status/plaintext-metric.ts';
import { createProxyMetrics } from '../src/proxy-status/proxy-metrics.ts';

const ROOT = join(import.meta.dirname, '..');
const pages = ['README.md', ...namesIn('docs', '.md').map((name) => `docs/${name}`)];

function namesIn(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(ending));
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

type Code = { readonly page: string; readonly text: string; readonly isBlock: boolean };

/** What stands in backquotes: fenced blocks and spans. A fence of three backquotes comes before the single one. */
const code: readonly Code[] = pages.flatMap((page) =>
  [...read(page).matchAll(/^```[^\n]*\n(.*?)^```|`([^`\n]+)`/gms)].map(([, block, span]) => ({
    page,
    text: block ?? span ?? '',
    isBlock: block !== undefined,
  })),
);

describe('the pages for people', () => {
  it('name only existing configuration keys', () => {
    const { leaves, sections } = keysOf(configSchema);
    const roots = [...sections].filter((path) => !path.includes('.'));
    const key = new RegExp(`(?<![\\w.$/~-])(?:${roots.join('|')})(?:\\.[a-zA-Z]+)+(?![\\w.*]|-\\w)`, 'g');
    const wrong = code.flatMap(({ page, text }) =>
      [...text.matchAll(key)].flatMap(([path]) => (leaves.has(path) || sections.has(path) ? [] : [`${page}: ${path}`])),
    );
    expect(wrong).toEqual([]);
  });

  it('name only existing files', () => {
    const documents = [
      ...pages,
      'test/README.md',
      'src/kds/SPEC.md',
      ...namesIn('docs/decisions', '.md').map((name) => `docs/decisions/${name}`),
    ];
    const path = /`((?:src|web|test|bench|docs|migrations|proto|scripts|examples|bin)\/[\w./-]+)`/g;
    const wrong = documents.flatMap((page) =>
      [...read(page).matchAll(path)].flatMap(([, file = '']) => (existsSync(join(ROOT, file)) ? [] : [`${page}: ${file}`])),
    );
    expect(wrong).toEqual([]);
  });

  it('name only environment variables that the code reads', () => {
    const known = new Set([...keysOf(configSchema).leaves].map(envName));
    for (const name of ['MERIDIAN_ADDRESS', 'MERIDIAN_CONFIG', 'MERIDIAN_MESH', 'MERIDIAN_TOKEN']) known.add(name);
    // vitest.config.ts and `meridian dataplane run` read them.
    for (const name of ['MERIDIAN_PEERS', 'MERIDIAN_ENVOY']) known.add(name);
    const wrong = code.flatMap(({ page, text }) =>
      [...text.matchAll(/\bMERIDIAN_[A-Z_]*[A-Z]\b/g)].flatMap(([name]) => (known.has(name) ? [] : [`${page}: ${name}`])),
    );
    expect(wrong).toEqual([]);
  });

  it('name only existing metrics', async () => {
    const known = await metricNames();
    // Tables, triggers and functions have names of the same form.
    const ofStore = [
      ...namesIn('migrations', '.sql').map((name) => `migrations/${name}`),
      ...namesIn('src/store', '.ts').map((name) => `src/store/${name}`),
    ];
    for (const file of ofStore) for (const [name] of read(file).matchAll(/\b[a-z]+(?:_[a-z0-9]+)+\b/g)) known.add(name);
    const metric = /\b(?:kds|meridian|api_server|resources|cp|store|grpc|component|insights)_[a-z0-9_]+\b/g;
    const wrong = code.flatMap(({ page, text }) =>
      [...text.matchAll(metric)].flatMap(([name]) =>
        known.has(name) || isDatabase(text, name) ? [] : [`${page}: ${name} is measured nowhere`],
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('describe every metric of the code', async () => {
    const described = new Set(code.filter(({ page }) => page === 'docs/running.md').map(({ text }) => text));
    const names = [...(await metricNames())].filter((name) => !/_(bucket|sum|count)$/.test(name) || name === 'resources_count');
    expect(names.filter((name) => !described.has(name))).toEqual([]);
  });

  it('show only existing commands and options', async () => {
    const program = await createProgram();
    const lines = code.flatMap(({ page, text, isBlock }) => commandsIn(text, isBlock).map((line) => ({ page, line })));
    expect(lines.length).toBeGreaterThan(20);
    const wrong = lines.flatMap(({ page, line }) => {
      const fault = faultOf(program, line);
      return fault === null ? [] : [`${page}: meridian ${line}: ${fault}`];
    });
    expect(wrong).toEqual([]);
  });
});

/** Dotted paths of the schema: what has a value, and what has keys. */
function keysOf(schema: z.ZodType): { leaves: Set<string>; sections: Set<string> } {
  type Node = { readonly properties?: Record<string, Node> };
  const leaves = new Set<string>();
  const sections = new Set<string>();
  const visit = ({ properties = {} }: Node, prefix: string): void => {
    for (const [key, below] of Object.entries(properties)) {
      const path = prefix === '' ? key : `${prefix}.${key}`;
      (below.properties === undefined ? leaves : sections).add(path);
      visit(below, path);
    }
  };
  visit(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Node, '');
  return { leaves, sections };
}

/** Names as Prometheus knows them: a histogram has three besides its own. */
async function metricNames(): Promise<Set<string>> {
  const registry = createRegistry('Global');
  const build = { product: 'Meridian', version: '0', buildDate: '', gitCommit: '', gitTag: '', instanceId: '' };
  createInfoMetric(registry, build, async () => '');
  createLeaderMetric(registry);
  createResourcesCountMetric(registry, [], async () => 0);
  createSyncMetrics({ registry, side: { mode: 'global' }, senders: new OpenSenders() });
  createExpiryMetrics(registry);
  createProxyMetrics(registry, systemClock);
  createPlaintextMetric(registry, { known: () => [] }, 'east');
  createConflictMetric(registry, () => []);
  createWaitingMetric(registry, () => ({ zones: 0, longestMs: 0 }));
  createInsightsMetric(registry, { waiting: 0 });
  measureRequests(fastify(), registry);
  const metrics = await registry.getMetricsAsJSON();
  return new Set(
    metrics.flatMap(({ name, type }) =>
      String(type) === 'histogram' ? [name, ...['bucket', 'sum', 'count'].map((part) => `${name}_${part}`)] : [name],
    ),
  );
}

/** `createdb … meridian_restored`: a database that the reader makes. */
function isDatabase(text: string, name: string): boolean {
  return text.includes('createdb') && new RegExp(`createdb .*\\b${name}\\b`).test(text);
}

/** What follows `meridian` in each command of a code block, or of a span that is one command. */
function commandsIn(text: string, isBlock: boolean): string[] {
  const isCommand = /^(?:[A-Z][A-Z_]*=\S*\s+)*(?:docker compose exec \S+ )?(?:bin\/)?meridian(?:\s+(.*))?$/;
  if (!isBlock) return isCommand.test(text) ? [isCommand.exec(text)?.[1] ?? ''] : [];
  return text
    .replaceAll(/\\\n\s*/g, ' ')
    .split(/\n|&&|;|\||\$\(|\)/)
    .map((part) => part.replace(/\s#.*$/, '').trim())
    .flatMap((part) => {
      const found = isCommand.exec(part);
      return found === null ? [] : [found[1] ?? ''];
    });
}

/** Null, or what of the line the command does not know. */
function faultOf(program: Command, line: string): string | null {
  // The first word that is no text of a command line: `…`, `<<END`, `>`.
  const words = (line.split(/\s+(?=[<>…])/)[0] ?? '').split(/\s+/).filter((word) => word !== '');
  let command = program;
  for (const word of words) {
    if (word.startsWith('-')) {
      const name = word.split('=')[0] ?? '';
      const options = command.createHelp().visibleOptions(command);
      if (name !== '-' && !options.some(({ long, short }) => long === name || short === name)) return `${name} is no option`;
    } else if (command.commands.length > 0) {
      const below = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (below === undefined) return `${word} is no command`;
      command = below;
    }
  }
  return null;
}

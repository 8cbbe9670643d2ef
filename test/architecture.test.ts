// The import table of docs/flow.md as a test: who may import whom, no circles, no room too large.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  circles,
  exportsUsedAlone,
  gone,
  importsOf,
  oversized,
  readSourceTree,
  withoutTests,
  type RoomSize,
} from './support/source-tree.ts';

const SRC = join(import.meta.dirname, '../src');

/** What a composition root puts together. */
const ENGINE = [
  ...[
    'base',
    'wire',
    'resource',
    'validation',
    'store',
    'grpc',
    'kds',
    'policy',
    'identity',
    'mesh-index',
    'gateway-api',
    'subscriptions',
    'zone-status',
    'defaults',
    'peering',
    'reconcile',
    'receipts',
    'replicas',
    'problems',
    'events',
  ],
  ...['token', 'http', 'writes', 'api', 'inspect'],
];

/** What the folders import that have routes of their own. */
const REST = ['answers', 'http', 'writes', 'api'];

/** Folder → folders it may import besides itself. `control-plane` is what both roots share. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  base: [],
  wire: ['base'],
  resource: ['base', 'wire'],
  // The parts of schemas, the policies made of them, and the schema of each type with its checks.
  schema: ['base', 'resource'],
  // Parts of Envoy's messages.
  envoy: ['base', 'wire', 'resource', 'schema'],
  policies: ['base', 'resource', 'schema', 'envoy'],
  validation: ['base', 'wire', 'resource', 'schema', 'policies'],
  store: ['base', 'resource'],
  grpc: ['base'],
  kds: ['base', 'wire', 'resource', 'validation', 'store', 'grpc'],
  policy: ['base', 'resource', 'schema', 'policies', 'validation'],
  identity: ['base', 'resource'],
  'mesh-index': ['base', 'resource', 'store', 'policy'],
  xds: ['envoy', 'base', 'wire', 'resource', 'schema', 'policies', 'validation', 'policy', 'identity'],
  // A request for a bootstrap brings a Dataplane, which is read as one that a person writes.
  'proxy-port': ['base', 'wire', 'resource', 'grpc', 'xds', 'token', 'http', 'writes'],
  ads: ['base', 'wire', 'resource', 'store', 'policy', 'identity', 'mesh-index', 'grpc', 'xds', 'proxy-port'],
  names: ['base', 'wire', 'resource', 'policy', 'mesh-index', 'grpc', 'xds', 'proxy-port', 'ads'],
  'gateway-api': ['base', 'resource', 'schema', 'policies', 'policy'],
  document: ['base', 'resource', 'validation', 'gateway-api'],
  subscriptions: ['base', 'resource', 'store'],
  takeover: ['base', 'resource', 'validation', 'store', 'document', 'kds'],
  import: ['base', 'resource', 'validation', 'store', 'takeover'],
  'zone-status': ['base', 'resource', 'store', 'kds', 'subscriptions'],
  'proxy-status': ['base', 'wire', 'resource', 'store', 'policy', 'mesh-index', 'xds', 'ads', 'http', 'writes', 'subscriptions'],
  'proxy-health': ['base', 'wire', 'resource', 'store', 'grpc', 'xds', 'proxy-port', 'ads'],
  defaults: ['base', 'resource', 'store'],
  peering: ['base', 'resource', 'store', 'kds', 'zone-status', 'defaults'],
  reconcile: ['base', 'resource', 'validation', 'store', 'policy', 'identity', 'gateway-api', 'zone-status'],
  token: ['base', 'resource', 'store', 'defaults'],
  // What answers look like, the HTTP kit, the way of a write, and the routes: each knows those before it.
  answers: ['resource'],
  http: ['base', 'resource', 'document', 'token', 'answers'],
  writes: ['base', 'resource', 'validation', 'store', 'gateway-api', 'document', 'answers', 'http'],
  api: [
    ...['base', 'resource', 'store', 'document', 'zone-status', 'defaults', 'peering', 'token'],
    ...['answers', 'http', 'writes'],
  ],
  // What decides on sync is asked for its reasons.
  inspect: [
    ...['envoy', 'base', 'resource', 'schema', 'policies', 'document', 'store', 'kds', 'policy', 'mesh-index', 'xds'],
    ...['zone-status', ...REST],
  ],
  receipts: ['base', 'resource', 'store', 'kds', 'zone-status', 'replicas', ...REST],
  replicas: ['base', 'resource', 'store', 'answers'],
  // A problem is what other answers already say: it is taken from where they compute it.
  problems: ['base', 'resource', 'store', 'policy', 'zone-status', 'token', 'replicas', 'identity', ...REST, 'inspect'],
  events: ['base', 'resource', 'store', 'kds', 'zone-status', 'receipts', 'replicas', 'problems', ...REST],
  // Knows names and addresses, and nothing of meshes.
  dns: ['base'],
  // Runs beside an Envoy on any machine: it speaks with a control plane and holds nothing of one.
  dataplane: ['base', 'wire', 'resource', 'dns'],
  // Rules of a firewall; it knows nothing of meshes. It reads resolv.conf.
  redirect: ['base', 'dns'],
  'control-plane': [...ENGINE],
  global: [...ENGINE, 'control-plane', 'takeover'],
  zone: [...ENGINE, 'control-plane', 'xds', 'ads', 'names', 'proxy-port', 'proxy-status', 'proxy-health'],
  // It takes the types of answers, and nothing that runs of them. The two roots are started by a dynamic import, `migrate` opens a store, and `generate` signs with a key from a file.
  cli: [
    ...[
      'base',
      'resource',
      'validation',
      'gateway-api',
      'document',
      'answers',
      'global',
      'zone',
      'store',
      'defaults',
      'token',
      'dataplane',
      'redirect',
    ],
    'takeover',
    'import',
  ],
};

/** Room of a folder → rooms that it may import besides itself; `''` is the top of the folder. */
type Rooms = {
  readonly rooms: Readonly<Record<string, readonly string[]>>;
  /** Whether imports of types count. */
  readonly types: boolean;
  /** Files at the top that put rooms together. */
  readonly composes: readonly string[];
  /** Whether a room may import the top only if the table says so. */
  readonly isTopAbove: boolean;
};

const ROOMS_MAY_IMPORT: Readonly<Record<string, Rooms>> = {
  // Options, output and exit codes at its top are for all of them.
  cli: {
    types: false,
    composes: ['main.ts', 'program.ts', 'run-command.ts'],
    isTopAbove: false,
    rooms: {
      // Answers become lines; nothing is asked, read or written.
      views: [],
      client: [],
      documents: ['views', 'client'],
      secrets: [],
      demo: ['views', 'client', 'documents'],
      commands: ['views', 'client', 'documents', 'secrets', 'demo'],
    },
  },
  kds: {
    types: true,
    composes: ['session.ts', 'sync-metrics.ts'],
    isTopAbove: true,
    rooms: {
      protocol: [],
      log: ['protocol'],
      admission: ['protocol'],
      sender: ['protocol', 'log', 'admission'],
      receiver: ['protocol', 'admission'],
      insights: ['protocol', 'receiver'],
      client: ['protocol', 'log', 'admission', 'sender', 'receiver', ''],
      server: ['protocol', 'log', 'admission', 'sender', 'receiver', 'insights', ''],
    },
  },
};

/** Packages that take longer to load than a short command runs, and those that a control plane may not need. `base/node-http.ts` has HTTP. */
const LOADED_WHEN_NEEDED: Record<string, readonly string[]> = {
  'cli/main.ts': [
    'zod',
    'protobufjs',
    'kysely',
    'pg',
    'fastify',
    '@grpc/grpc-js',
    'jose',
    'prom-client',
    '@peculiar/x509',
    'listr2',
    'node:http',
    'node:https',
  ],
  'global/run.ts': ['@peculiar/x509', '@electric-sql/pglite', 'listr2', 'node:http'],
  'zone/run.ts': ['@peculiar/x509', '@electric-sql/pglite', 'listr2', 'node:http'],
};

/** Folder → folders of which it imports types alone: the command line starts without the REST API. */
const TYPES_ALONE: Record<string, readonly string[]> = { cli: ['answers'] };

/** Most files and lines of a folder, without its folders and its tests. */
const ROOM: RoomSize = { files: 45, lines: 4_500 };

/** Rooms that are larger, and how large they may be. A room that grows over this is divided first. */
const LARGE_ROOMS: Record<string, RoomSize> = {
  xds: { files: 72, lines: 8_000 },
};

/** Folders whose exports are not checked yet. */
const MAY_EXPORT_MORE = ['kds', 'policies', 'policy', 'receipts', 'replicas', 'schema', 'store', 'validation', 'xds'];

/** Folders of `test` for the whole product (test/README.md). Every other folder has the name of the folder of src that it tests. */
const WHOLE_PRODUCT = [
  'golden',
  'replay',
  'e2e',
  'envoy',
  'gui',
  'peers',
  'chaos',
  'soak',
  'bench',
  'mutation',
  'support',
  'fakes',
];

/** Files and folders that read real time, and why. */
const READ_REAL_TIME: Record<string, string> = {
  'base/clock.ts': 'the clock itself',
  'cli/': 'a command runs in the time of the person who waits for it',
  'base/fair-queue.ts': 'slices of the event loop',
  'kds/admission/fair-scheduler.ts': 'slices of the event loop',
};

/** The change feed itself, and what hands it on. */
const FEEDS = ['store/follow-feed.ts', 'store/sql-store.ts', 'store/answer-in-time.ts'];

/** What reads insights of proxies. Problems of proxies are known in their zone alone. */
const READ_INSIGHTS = ['zone-status/proxy-insights.ts', 'inspect/proxy-problems.ts'];

/** A name on the wire holds the zone label, and ownership.ts asks for such names. */
const READ_OWNERSHIP = ['resource/ownership.ts', 'resource/hash-name.ts'];

const tree = readSourceTree(SRC);
const sourceTree = withoutTests(tree);
const files = [...tree.keys()];
const sources = [...sourceTree.keys()];
const commands = sources.filter((file) => file.startsWith('cli/commands/'));

/** What loading a file loads with it: files of src, and packages with the file that imports them. Dynamic imports are left out. */
function loadedWith(file: string, loaded = new Map<string, string>()): Map<string, string> {
  const text = readFileSync(join(SRC, file), 'utf8');
  for (const [, from = ''] of text.matchAll(/^(?:import|export)(?!\s+type\s)(?:[^;]*?from)?\s+'([^']+)'/gm)) {
    const target = from.startsWith('.') ? relative(SRC, join(SRC, dirname(file), from)) : from;
    if (loaded.has(target)) continue;
    loaded.set(target, file);
    if (sources.includes(target)) loadedWith(target, loaded);
  }
  return loaded;
}

/** The room of a file below a folder of src, `''` for one at its top; null for a file elsewhere. */
function roomOf(folder: string, file: string): string | null {
  const [top, room = '', inRoom] = file.split('/');
  if (top !== folder) return null;
  return inRoom === undefined ? '' : room;
}

describe('the architecture', () => {
  it('lets a folder import only what the table allows', () => {
    const wrong = sources.flatMap((file) => {
      const folder = file.split('/')[0] ?? '';
      const allowed = MAY_IMPORT[folder];
      if (allowed === undefined)
        return [
          `${file}: folder ${folder} is not in the table of test/architecture.test.ts; decide what it may import and add it`,
        ];
      return importsOf(sourceTree, file, { types: true })
        .filter((target) => !target.startsWith('..'))
        .map((target) => target.split('/')[0] ?? '')
        .filter((target) => target !== folder && !allowed.includes(target))
        .map((target) => `${file} imports ${target}: move what is shared down, or let the root pass it in`);
    });
    expect(wrong).toEqual([]);
  });

  it.each(Object.entries(ROOMS_MAY_IMPORT))('lets a room of %s import only what its table allows', (folder, table) => {
    const wrong = sources.flatMap((file) => {
      const room = roomOf(folder, file);
      if (room === null || table.composes.some((name) => file === `${folder}/${name}`)) return [];
      const allowed = room === '' ? [] : table.rooms[room];
      if (allowed === undefined) return [`${file}: room ${room} is not in the table of test/architecture.test.ts`];
      return importsOf(sourceTree, file, { types: table.types })
        .flatMap((target) => roomOf(folder, target) ?? [])
        .filter((target) => target !== room && (target !== '' || table.isTopAbove) && !allowed.includes(target))
        .map(
          (target) =>
            `${file} imports ${target === '' ? `the top of src/${folder}` : target}: pass it in, or move what is shared down`,
        );
    });
    expect(wrong).toEqual([]);
  });

  it('lets a policy import no other policy', () => {
    const policyOf = (file: string): string | undefined => /^policies\/([^/]+)\//.exec(file)?.[1];
    const wrong = sources.flatMap((file) => {
      const own = policyOf(file);
      if (own === undefined) return [];
      return importsOf(sourceTree, file, { types: true })
        .filter((target) => (policyOf(target) ?? own) !== own)
        .map((target) => `${file} imports ${target}: move what is shared to src/schema or src/envoy`);
    });
    expect(wrong).toEqual([]);
  });

  it('gives each file of the command line its own name', () => {
    const names = sources.filter((file) => file.startsWith('cli/')).map((file) => file.split('/').at(-1) ?? '');
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('lets a folder run no code of a folder from which it may import types only', () => {
    const wrong = sources.flatMap((file) =>
      importsOf(sourceTree, file, { types: false })
        .filter((target) => TYPES_ALONE[file.split('/')[0] ?? '']?.includes(target.split('/')[0] ?? '') === true)
        .map((target) => `${file} runs ${target}: write \`import type\``),
    );
    expect(wrong).toEqual([]);
  });

  it('has no circle of imports, of types neither', () => {
    // Break one by moving what is shared into a file of its own.
    expect(circles(sourceTree, { types: true })).toEqual([]);
  });

  it('permits nothing to files and folders that are gone', () => {
    const named = [Object.keys(LOADED_WHEN_NEEDED), Object.keys(READ_REAL_TIME), FEEDS, READ_INSIGHTS, READ_OWNERSHIP];
    const folders = [...Object.keys(MAY_IMPORT), ...Object.values(MAY_IMPORT).flat(), ...Object.keys(TYPES_ALONE)];
    const rooms = Object.entries(ROOMS_MAY_IMPORT).flatMap(([folder, { rooms: table }]) =>
      [...Object.keys(table), ...Object.values(table).flat()].map((room) => (room === '' ? `${folder}/` : `${folder}/${room}/`)),
    );
    expect(gone(sourceTree, [...named.flat(), ...folders.map((folder) => `${folder}/`), ...rooms])).toEqual([]);
  });

  it.each(Object.entries(LOADED_WHEN_NEEDED))('loads %s without forbidden packages', (file, packages) => {
    const loaded = loadedWith(file);
    // A call of the command line loads one of them.
    if (file === 'cli/main.ts') for (const command of commands) loadedWith(command, loaded);
    expect(loaded.size).toBeGreaterThan(100);
    expect(
      packages.flatMap((name) => (loaded.has(name) ? [`${loaded.get(name) ?? ''} imports ${name}: use import()`] : [])),
    ).toEqual([]);
  });

  it('loads no command with the command line', () => {
    expect(commands.length).toBeGreaterThan(30);
    const loaded = loadedWith('cli/main.ts');
    expect(
      commands.flatMap((file) => (loaded.has(file) ? [`${loaded.get(file) ?? ''} imports ${file}: use import()`] : [])),
    ).toEqual([]);
  });

  it('reads time from a Clock only', () => {
    const pattern =
      /Date\.now|new Date\(\)|performance\.now|(?<!\.)\bset(?:Timeout|Interval)\(|setTimeout as|AbortSignal\.timeout/;
    const wrong = sources.filter(
      (file) =>
        !Object.keys(READ_REAL_TIME).some((path) => (path.endsWith('/') ? file.startsWith(path) : file === path)) &&
        pattern.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(wrong.map((file) => `${file}: take a Clock (base/clock.ts), so that tests turn it by hand`)).toEqual([]);
  });

  it('follows the change feed in one place', () => {
    const wrong = sources.filter((file) => !FEEDS.includes(file) && /\.changes\(/.test(readFileSync(join(SRC, file), 'utf8')));
    expect(wrong.map((file) => `${file}: follow the feed with store/follow-feed.ts`)).toEqual([]);
  });

  it('reads insights of proxies for people in one place, which knows that a global may keep only counts', () => {
    const rooms = [
      'http',
      'writes',
      'api',
      'inspect',
      'problems',
      'events',
      'receipts',
      'replicas',
      'global',
      'control-plane',
      'zone-status',
    ];
    const wrong = sources.filter(
      (file) =>
        rooms.includes(file.split('/')[0] ?? '') &&
        !READ_INSIGHTS.includes(file) &&
        /type: 'DataplaneInsight'/.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(wrong.map((file) => `${file}: ask zone-status/proxy-insights.ts, which has a third answer`)).toEqual([]);
  });

  it('names types of proxies in no sender and no receiver', () => {
    const pattern = /'(?:Dataplane|ServiceInsight|DataplaneInsight)'/;
    // A zone keeps a Mesh while it has rows of its own in it, and the table of those rows names types.
    const wrong = sources.filter(
      (file) =>
        /^kds\/(?:sender|receiver|log|admission|[^/]+$)/.test(file) &&
        file !== 'kds/receiver/kept-meshes.ts' &&
        pattern.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(wrong.map((file) => `${file}: give the receiver a sink (kds/insights), or put it in the rule table`)).toEqual([]);
  });

  it('has no file and no folder over its size', () => {
    expect(oversized(tree, ROOM, LARGE_ROOMS)).toEqual([]);
  });

  it('places tests where src is', () => {
    const rooms = new Set(files.map((file) => file.split('/')[0]));
    const tests = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const folders = [...new Set(tests.flatMap((file) => file.split('/').slice(0, -1).slice(0, 1)))];
    const wrong = folders.filter((name) => !rooms.has(name) && !WHOLE_PRODUCT.includes(name));
    expect(wrong.map((name) => `test/${name}: name it after the folder of src that it tests`)).toEqual([]);
  });

  it('exports only what another file imports', () => {
    const others = ['test', 'bench', 'scripts', 'web/src'].flatMap((folder) => [...readSourceTree(join(SRC, '..', folder))]);
    const wrong = exportsUsedAlone(tree, new Map(others.map(([, text], index) => [String(index), text])));
    expect(wrong.filter((text) => !MAY_EXPORT_MORE.includes(text.split('/')[0] ?? ''))).toEqual([]);
  });

  it('has no barrel and no catch-all file', () => {
    const wrong = files.flatMap((file) => {
      const name = file.split('/').at(-1) ?? '';
      return [
        ...(name === 'index.ts' ? [`${file}: import the file itself, there are no barrels`] : []),
        ...(/^(utils?|helpers?|common|lib|manager|interfaces)\.ts$/.test(name)
          ? [`${file}: name the file after what it holds`]
          : []),
        ...(/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*\.ts$/.test(name) ? [] : [`${file}: file names are kebab-case`]),
      ];
    });
    expect(wrong).toEqual([]);
  });

  it('keeps the page apart: it takes types alone from the product, and its files are small', () => {
    const WEB = join(import.meta.dirname, '../web/src');
    const page = readdirSync(WEB, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
    expect(page.length).toBeGreaterThan(20);
    const wrong = page.flatMap((file) => {
      const text = readFileSync(join(WEB, file), 'utf8');
      const runs = [...text.matchAll(/^import\s(?!type\s)[^;]*?from\s+'([^']*\/src\/[^']+)'/gm)].map(([, from]) => from ?? '');
      return [
        ...runs.map((from) => `web/src/${file} runs ${from}: write \`import type\``),
        ...(text.split('\n').length > 300 ? [`web/src/${file} has more than 300 lines: split it`] : []),
        ...(/^(?:[a-z]+\/)?[a-z0-9]+(-[a-z0-9]+)*\.tsx?$/.test(file) ? [] : [`web/src/${file}: file names are kebab-case`]),
      ];
    });
    expect(wrong).toEqual([]);
  });

  it('reads the labels of origin and zone in the file of ownership only', () => {
    // The command line shows the labels of answers.
    const reads = /\blabels\??\.?\[label\.(?:origin|zone)\]|\[label\.(?:origin|zone)\]: \w+ *[=,}].*\} = \w*[lL]abels\b/;
    const wrong = sources.filter(
      (file) => !READ_OWNERSHIP.includes(file) && !file.startsWith('cli/') && reads.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(wrong).toEqual([]);
  });
});

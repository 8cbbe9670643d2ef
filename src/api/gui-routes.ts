// The page for people, at `/gui`: the built files of `web/dist`. Every other path below it is a place in the page and answers with the
// same document. Invariants: only files that stand in that folder at the start are served, and nothing foreign runs in the page.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { takesCoding } from '../http/compress.ts';
import { about } from '../http/route-config.ts';
import { namesTag } from '../http/entity-tag.ts';

const BUILT = join(import.meta.dirname, '../../web/dist');
const INDEX = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

/** A build gives files in this folder a new name when their content changes. */
const NAMED_BY_CONTENT = /^assets\/.+-[\w-]{8}\.\w+$/;

type Coding = 'br' | 'gzip';
type GuiFile = {
  readonly type: string;
  readonly bytes: Buffer;
  readonly etag: string;
  readonly cacheControl: string;
  /** The compressed bytes, made at the first request. */
  readonly coded: Map<Coding, Promise<Buffer>>;
};

export function addGuiRoutes(app: FastifyInstance): void {
  const files = readGuiFiles(BUILT);
  const page = about('Control plane', 'The page for people, and its files', {
    answer: { type: 'string' },
    unchanged: true,
    produces: ['text/html', 'text/javascript', 'text/css', 'image/svg+xml'],
  });
  app.get('/gui', page, async (request, reply) => await send(files, INDEX, request, reply));
  app.get<{ Params: { '*': string } }>('/gui/*', page, async (request, reply) => {
    return await send(files, request.params['*'], request, reply);
  });
}

/** The files by their path below the folder. @throws Error without an index: the page was not built */
function readGuiFiles(folder: string): ReadonlyMap<string, GuiFile> {
  const files = new Map<string, GuiFile>();
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = entry.replaceAll('\\', '/');
    const type = TYPES[extname(path)];
    if (type === undefined) continue;
    const bytes = readFileSync(join(folder, entry));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const cacheControl = NAMED_BY_CONTENT.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache';
    files.set(path, { type, bytes, etag, cacheControl, coded: new Map() });
  }
  if (!files.has(INDEX)) throw new Error(`${join(folder, INDEX)} does not exist: run \`npm run web\``);
  return files;
}

async function send(
  files: ReadonlyMap<string, GuiFile>,
  path: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  // A file of an earlier build is gone. Its path must not answer with the document.
  const file = files.get(path) ?? (path.startsWith('assets/') ? undefined : files.get(INDEX));
  if (file === undefined) return reply.code(404).type('text/plain').send('404: Page Not Found');
  reply.headers(HEADERS).header('cache-control', file.cacheControl).header('etag', file.etag).header('vary', 'Accept-Encoding');
  if (namesTag(request.headers['if-none-match'], file.etag)) return reply.code(304).send();
  reply.type(file.type);
  const coding = codingOf(request);
  if (coding === null) return reply.send(file.bytes);
  return reply.header('content-encoding', coding).send(await codedBytes(file, coding));
}

function codingOf({ headers }: FastifyRequest): Coding | null {
  const header = headers['accept-encoding'];
  return (['br', 'gzip'] as const).find((coding) => takesCoding(header, coding)) ?? null;
}

function codedBytes(file: GuiFile, coding: Coding): Promise<Buffer> {
  const known = file.coded.get(coding);
  if (known !== undefined) return known;
  const made =
    coding === 'br'
      ? promisify(brotliCompress)(file.bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })
      : promisify(gzip)(file.bytes, { level: 9 });
  file.coded.set(coding, made);
  return made;
}

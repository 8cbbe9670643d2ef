// The REST API as the command line uses it. Failures become MeridianErrors that say what to do next.
import { text as textOfStream } from 'node:stream/consumers';
import { MeridianError } from '../../base/errors.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Json, JsonObject } from '../../resource/types.ts';
import type { Answer } from '../../answers/answers.ts';
import { UsageError } from '../exit-codes.ts';
import { failedAnswer, notControlPlane } from './failed-answer.ts';
import { exchange, openStream, type Endpoint } from './http-call.ts';
import type { ServerEvent } from './server-events.ts';

export type Item = JsonObject & {
  readonly type: string;
  readonly name: string;
  readonly mesh?: string;
  readonly labels?: Record<string, string>;
};

/** The answer of `GET /`. Only Meridian has `mode` and `zone`. */
export type Index = Pick<Answer<'Index'>, 'product' | 'version'> & Partial<Answer<'Index'>>;

const PAGE = 1000;
/** The number of items to step back when a page does not follow the previous one. */
const STEP_BACK = 100;
/** The time limit of an apply: a transaction of 32 MiB on a busy machine. */
const APPLY_MS = 600_000;
/** The time limit of a rollout beside the wait that is asked for. */
const ROLLOUT_MS = 30_000;

export class ApiClient {
  readonly #endpoint: Endpoint;

  constructor(endpoint: string | Endpoint) {
    this.#endpoint = typeof endpoint === 'string' ? { address: endpoint } : endpoint;
  }

  get address(): string {
    return this.#endpoint.address;
  }

  async index(): Promise<Index> {
    return (await this.read('/')) as Index;
  }

  /** The JSON body of a GET. @throws MeridianError `not_found` among others */
  async read(path: string): Promise<unknown> {
    return (await this.#call('GET', path)).body;
  }

  /** An object with a paged list `key`, read completely; without `total` and `next`, which concern one page. */
  async readWhole(path: string, key: string): Promise<JsonObject> {
    const all: Json[] = [];
    for (;;) {
      const answer = (await this.read(`${path}?size=${String(PAGE)}&offset=${String(all.length)}`)) as JsonObject;
      const { next, total: _total, [key]: items, ...head } = answer;
      all.push(...(items as Json[]));
      if (next === undefined || (items as Json[]).length === 0) return { ...head, [key]: all };
    }
  }

  /** The item of that stored name, or undefined. */
  async get(info: TypeInfo, mesh: string, name: string): Promise<Item | undefined> {
    return (await this.getTagged(info, mesh, name))?.item;
  }

  /** The item and its ETag, for `ifMatch` of an update of exactly this version. */
  async getTagged(info: TypeInfo, mesh: string, name: string): Promise<{ item: Item; etag: string | undefined } | undefined> {
    const { status, body, etag } = await this.#call('GET', itemPath(info, mesh, name), { expected: [404] });
    return status === 404 ? undefined : { item: body as Item, etag };
  }

  /** All items, page after page; of all meshes if none is given. @param keeps as in `pages` */
  async list(
    info: TypeInfo,
    mesh: string | undefined,
    filter: Record<string, string> = {},
    keeps?: (item: Item) => boolean,
  ): Promise<Item[]> {
    try {
      return await this.pages(listPath(info, mesh), filter, keeps);
    } catch (error) {
      throw listFailure(error, info, mesh);
    }
  }

  /** The pages of a list as they arrive. @throws MeridianError as `list` */
  async *listPages(info: TypeInfo, mesh: string | undefined, filter: Record<string, string>): AsyncGenerator<readonly Item[]> {
    try {
      yield* this.eachPage(listPath(info, mesh), filter);
    } catch (error) {
      throw listFailure(error, info, mesh);
    }
  }

  /**
   * All items of a list. Items that exist during the whole call are returned exactly once. Each page begins with the last item of the
   * previous one, which proves that nothing is missing between them.
   * @param keeps selects the items to keep, as pages arrive, so that others take no memory
   */
  async pages(path: string, filter: Record<string, string> = {}, keeps: (item: Item) => boolean = () => true): Promise<Item[]> {
    const items = new Map<string, Item>();
    for await (const page of this.eachPage(path, filter)) for (const item of page) if (keeps(item)) items.set(idOf(item), item);
    return [...items.values()];
  }

  /** The pages of `pages`, each as it arrives. The next page is requested on demand. An item may occur twice. */
  async *eachPage(path: string, filter: Record<string, string> = {}): AsyncGenerator<readonly Item[]> {
    let before: ReadonlySet<string> | null = null;
    for (let offset = 0; ;) {
      const query = new URLSearchParams({ ...filter, size: String(PAGE), offset: String(offset) });
      const page = (await this.read(`${path}?${query.toString()}`)) as { items: Item[]; next: string | null };
      const ids = page.items.map(idOf);
      if (before !== null && offset > 0 && !ids.some((id) => before?.has(id))) {
        // Rows were deleted between two pages, so later rows moved up: step back, so that none is skipped.
        offset = Math.max(0, offset - STEP_BACK);
        continue;
      }
      yield page.items;
      if (page.next === null || page.items.length === 0) return;
      const overlaps = page.items.length > 1;
      before = overlaps ? new Set(ids) : null;
      offset += page.items.length - Number(overlaps);
    }
  }

  /** The list, or with a stored name one item, and then the changes, until the signal aborts or the server ends the watch. */
  async *watch(
    info: TypeInfo,
    { mesh, name, filter = {} }: { mesh?: string | undefined; name?: string | undefined; filter?: Record<string, string> },
    signal: AbortSignal,
  ): AsyncGenerator<ServerEvent> {
    const base = name === undefined ? listPath(info, mesh) : itemPath(info, mesh ?? '', name);
    const path = `${base}?${new URLSearchParams({ ...filter, watch: 'true' }).toString()}`;
    try {
      yield* this.#stream(path, signal);
    } catch (error) {
      throw name === undefined ? listFailure(error, info, mesh) : error;
    }
  }

  /**
   * The events of the control plane, until the signal aborts or the server ends the stream.
   * @param lastId the stream continues after it
   * @param onId called with each id after which a stream can continue
   */
  async *events(
    topics: readonly string[],
    lastId: string,
    signal: AbortSignal,
    onId: (id: string) => void,
  ): AsyncGenerator<ServerEvent> {
    const query = new URLSearchParams({
      ...(topics.length > 0 && { topics: topics.join(',') }),
      ...(lastId !== '' && { lastEventId: lastId }),
    });
    yield* this.#stream(`/_events?${query.toString()}`, signal, onId);
  }

  async *#stream(path: string, signal: AbortSignal, onId?: (id: string) => void): AsyncGenerator<ServerEvent> {
    const response = await openStream(this.#endpoint, { method: 'GET', path, headers: { accept: 'text/event-stream' } }, signal);
    if (response.statusCode !== 200) {
      const refusal = await textOfStream(response);
      throw this.#failed(response.statusCode ?? 0, refusal);
    }
    if (!(response.headers['content-type'] ?? '').startsWith('text/event-stream')) {
      response.destroy();
      throw new MeridianError('invalid', `the control plane at ${this.address} cannot be watched: it answers a list at once`);
    }
    const { readEvents } = await import('./server-events.ts');
    yield* readEvents(response, signal, { onId, failed: (status, error) => failedAnswer(status, error, '', this.#caller) });
  }

  async put(
    info: TypeInfo,
    mesh: string,
    name: string,
    body: JsonObject,
    { ifMatch, isNew = false }: { ifMatch?: string | undefined; isNew?: boolean } = {},
  ): Promise<{ created: boolean; warnings: readonly string[] }> {
    const headers = { ...(ifMatch !== undefined && { 'if-match': ifMatch }), ...(isNew && { 'if-none-match': '*' }) };
    const { status, body: answer } = await this.#call('PUT', itemPath(info, mesh, name), { body, headers });
    const { warnings = [] } = (answer ?? {}) as Partial<Answer<'Written'>>;
    return { created: status === 201, warnings };
  }

  async delete(info: TypeInfo, mesh: string, name: string): Promise<void> {
    await this.#call('DELETE', itemPath(info, mesh, name));
  }

  /**
   * The rollout of the newest change of a row, also of a deleted one.
   * @param waitMs the milliseconds to wait for the zones; 0 does not wait
   */
  async rollout(info: TypeInfo, mesh: string, name: string, waitMs: number): Promise<Answer<'Rollout'>> {
    const query = waitMs > 0 ? `?wait=zones&timeout=${String(waitMs)}ms` : '';
    const limitMs = waitMs + ROLLOUT_MS;
    const { body } = await this.#call('GET', `${itemPath(info, mesh, name)}/_rollout${query}`, { limitMs });
    return body as Answer<'Rollout'>;
  }

  /** The kept versions of a resource, the newest first, also of one that was deleted. */
  async history(info: TypeInfo, mesh: string, name: string): Promise<Answer<'History'>> {
    const path = `${itemPath(info, mesh, name)}/_history`;
    const first = (await this.read(path)) as Answer<'History'>;
    const items = [...first.items];
    for (let { next } = first; next !== null;) {
      const page = (await this.read(`${path}?before=${String(next)}`)) as Answer<'History'>;
      items.push(...page.items);
      next = page.next;
    }
    return { ...first, items, next: null };
  }

  /** One version of a resource. @param from the version that its difference begins with, in place of the one before it */
  async version(info: TypeInfo, mesh: string, name: string, number: string, from?: string): Promise<Answer<'Version'>> {
    const query = from === undefined ? '' : `?from=${encodeURIComponent(from)}`;
    return (await this.read(`${itemPath(info, mesh, name)}/_history/${pathPart(number)}${query}`)) as Answer<'Version'>;
  }

  /** Writes a version again. */
  async rollBack(
    info: TypeInfo,
    mesh: string,
    name: string,
    to: number,
    { dryRun }: { dryRun: boolean },
  ): Promise<Answer<'RolledBack'>> {
    const path = `${itemPath(info, mesh, name)}/_rollback${dryRun ? '?dryRun=true' : ''}`;
    return (await this.#call('POST', path, { body: { to } })).body as Answer<'RolledBack'>;
  }

  /** The bytes of an answer that may be long. @throws MeridianError as `read` */
  async stream(path: string, accept: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
    const response = await openStream(this.#endpoint, { method: 'GET', path, headers: { accept } }, signal);
    if (response.statusCode !== 200) {
      const refusal = await textOfStream(response);
      throw this.#failed(response.statusCode ?? 0, refusal);
    }
    if ((response.headers['content-type'] ?? '').startsWith(accept)) return response as AsyncIterable<Buffer>;
    response.destroy();
    throw notControlPlane();
  }

  /** The resources that a deletion would delete too, by type; nothing is deleted. Null for a control plane without a dry run. */
  async planDelete(info: TypeInfo, mesh: string, name: string): Promise<Answer<'DeleteDryRun'>['takes'] | null> {
    // Another control plane would ignore the query and delete.
    if ((await this.index()).product !== 'Meridian') return null;
    const { body } = await this.#call('DELETE', `${itemPath(info, mesh, name)}?dryRun=true`);
    return (body as Answer<'DeleteDryRun'>).takes;
  }

  /** All documents in one transaction, or none. @param documents the body, a JSON list of resources */
  async applyAll(documents: string, { dryRun }: { dryRun: boolean }): Promise<Answer<'Applied'>['items']> {
    const path = dryRun ? '/_apply?dryRun=true' : '/_apply';
    const { body } = await this.#call('POST', path, { text: documents, limitMs: APPLY_MS });
    return (body as Answer<'Applied'>).items;
  }

  /** The changes that documents would make; nothing is written. @param body JSON: a list of resources, or the deletions */
  async preview(body: string): Promise<Answer<'Preview'>> {
    return (await this.#call('POST', '/_preview', { text: body, limitMs: APPLY_MS })).body as Answer<'Preview'>;
  }

  /** The JSON answer of an action, such as `POST /zones/east/_adopt`. @throws MeridianError `not_found`, `conflict` among others */
  async act(path: string, body: JsonObject): Promise<JsonObject> {
    return (await this.#call('POST', path, { body })).body as JsonObject;
  }

  /** @returns the token from `POST /tokens/<kind>` */
  async token(kind: 'zone' | 'user' | 'dataplane', request: JsonObject): Promise<string> {
    const { text } = await this.#call('POST', `/tokens/${kind}`, { body: request, isText: true });
    return text.trim();
  }

  get #caller(): { isKnown: boolean } {
    const { token, clientCert } = this.#endpoint;
    return { isKnown: token !== undefined || clientCert !== undefined };
  }

  #failed(status: number, text: string): MeridianError {
    return failedAnswer(status, parse(text), text, this.#caller);
  }

  async #call(
    method: string,
    path: string,
    options: {
      body?: JsonObject;
      text?: string;
      headers?: Record<string, string>;
      expected?: readonly number[];
      limitMs?: number;
      /** Whether the answer is a text, not JSON. */
      isText?: boolean;
    } = {},
  ): Promise<{ status: number; body: unknown; text: string; etag: string | undefined }> {
    const { body, text: sent = body === undefined ? undefined : JSON.stringify(body), headers, expected = [], limitMs } = options;
    const { isText = false } = options;
    const answer = await exchange(this.#endpoint, { method, path, body: sent, headers, limitMs });
    const { status, text } = answer;
    const parsed = parse(text);
    const isDone = status >= 200 && status < 300;
    if (!isDone && !expected.includes(status)) throw this.#failed(status, text);
    // A control plane may answer a write without a body.
    if (isDone && !isText && parsed === undefined && (method === 'GET' || text !== '')) throw notControlPlane();
    return { status, body: parsed, text, etag: answer.headers.etag };
  }
}

function listPath(info: TypeInfo, mesh: string | undefined): string {
  return info.scope === 'Mesh' && mesh !== undefined ? `/meshes/${pathPart(mesh)}/${info.path}` : `/${info.path}`;
}

/** A 404 for a list means a missing mesh. */
function listFailure(error: unknown, info: TypeInfo, mesh: string | undefined): unknown {
  if (!(error instanceof MeridianError) || error.code !== 'not_found' || info.scope === 'Global' || mesh === undefined)
    return error;
  const text = `there is no mesh ${JSON.stringify(mesh)}; \`meridian get meshes\` lists them`;
  return new MeridianError('not_found', text, { cause: error });
}

/** The path of a resource. @throws UsageError as `pathPart` */
export function itemPath(info: TypeInfo, mesh: string, name: string): string {
  const prefix = info.scope === 'Mesh' ? `/meshes/${pathPart(mesh)}` : '';
  return `${prefix}/${info.path}/${pathPart(name)}`;
}

/** A name as one segment of a path. @throws UsageError for a name that changes the path in every encoding */
export function pathPart(name: string): string {
  if (['', '.', '..'].includes(name)) throw new UsageError(`${JSON.stringify(name)} is not a valid name of a resource or mesh`);
  return encodeURIComponent(name);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function idOf({ type, mesh = '', name }: Item): string {
  return `${type}/${mesh}/${name}`;
}

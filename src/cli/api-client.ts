// The REST API as the command line uses it. Failures become MeridianErrors that say what to do next.
import { MeridianError, messageOf, type ErrorCode, type Violation } from '../base/errors.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';

export type Item = JsonObject & {
  readonly type: string;
  readonly name: string;
  readonly mesh?: string;
  readonly labels?: Record<string, string>;
};

/** What `GET /` says of the control plane. */
export type Index = { readonly product: string; readonly version: string; readonly mode?: string; readonly zone?: string };

const PAGE = 1000;

export class ApiClient {
  readonly #address: string;

  constructor(address: string) {
    this.#address = address.replace(/\/+$/, '');
  }

  async index(): Promise<Index> {
    return (await this.#call('GET', '/')).body as Index;
  }

  /** The item of that stored name, or undefined. */
  async get(info: TypeInfo, mesh: string, name: string): Promise<Item | undefined> {
    const { status, body } = await this.#call('GET', itemPath(info, mesh, name), undefined, [404]);
    return status === 404 ? undefined : (body as Item);
  }

  /** All items, page after page; of all meshes if none is named. */
  async list(info: TypeInfo, mesh: string | undefined, filter: Record<string, string> = {}): Promise<Item[]> {
    const path =
      info.scope === 'Mesh' && mesh !== undefined ? `/meshes/${encodeURIComponent(mesh)}/${info.path}` : `/${info.path}`;
    return await this.#pages(path, filter);
  }

  async zoneOverviews(): Promise<Item[]> {
    return await this.#pages('/zones/_overview', {});
  }

  async put(info: TypeInfo, mesh: string, name: string, body: JsonObject): Promise<{ created: boolean; warnings: string[] }> {
    const { status, body: answer } = await this.#call('PUT', itemPath(info, mesh, name), body);
    const { warnings = [] } = answer as { warnings?: string[] };
    return { created: status === 201, warnings };
  }

  async delete(info: TypeInfo, mesh: string, name: string): Promise<void> {
    await this.#call('DELETE', itemPath(info, mesh, name));
  }

  async #pages(path: string, filter: Record<string, string>): Promise<Item[]> {
    const items: Item[] = [];
    for (;;) {
      const query = new URLSearchParams({ ...filter, size: String(PAGE), offset: String(items.length) });
      const { body } = await this.#call('GET', `${path}?${query.toString()}`);
      const page = body as { items: Item[]; next: string | null };
      items.push(...page.items);
      if (page.next === null || page.items.length === 0) return items;
    }
  }

  async #call(
    method: string,
    path: string,
    body?: JsonObject,
    expected: readonly number[] = [],
  ): Promise<{ status: number; body: unknown }> {
    let response: Response;
    try {
      response = await fetch(this.#address + path, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
        signal: AbortSignal.timeout(60_000),
      });
    } catch (error) {
      const text = `cannot reach a control plane at ${this.#address} (${reasonOf(error)}). Start one with \`meridian global run\`, or name another with --address`;
      throw new MeridianError('unavailable', text, { cause: error });
    }
    const text = await response.text();
    const answer = parse(text);
    if (response.ok || expected.includes(response.status)) return { status: response.status, body: answer };
    throw failure(response.status, answer, text);
  }
}

function itemPath(info: TypeInfo, mesh: string, name: string): string {
  const prefix = info.scope === 'Mesh' ? `/meshes/${encodeURIComponent(mesh)}` : '';
  return `${prefix}/${info.path}/${encodeURIComponent(name)}`;
}

const CODES: Record<number, ErrorCode> = {
  400: 'invalid',
  403: 'forbidden',
  404: 'not_found',
  405: 'read_only',
  409: 'conflict',
  413: 'too_large',
  503: 'unavailable',
};

function failure(status: number, answer: unknown, text: string): MeridianError {
  const {
    title = '',
    detail = text.trim(),
    invalid_parameters: violations = [],
  } = (answer ?? {}) as { title?: string; detail?: string; invalid_parameters?: Violation[] };
  const message = violations.length > 0 ? title : [title, detail].filter(Boolean).join(': ');
  return new MeridianError(CODES[status] ?? 'internal', message === '' ? `the answer has status ${String(status)}` : message, {
    violations,
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: string } };
  return cause?.code ?? messageOf(error);
}

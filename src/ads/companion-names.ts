// The document of names in the configuration of a proxy with kuma-dp (xds 3.4). It has a name when the proxy has accepted all listeners behind
// it, with their filters and routes, and its last answer until the next one leads somewhere. Invariant: the proxy gets a document without a
// name before it loses the listeners behind it.
import { hash } from 'node:crypto';
import { perObject } from '../base/per-object.ts';
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { JsonObject } from '../resource/types.ts';
import { TYPE_URL_PREFIX } from '../wire/any.ts';
import { envoyJsonToBinary } from '../wire/json-to-binary.ts';
import { encodeResourceEntry } from '../wire/kds-messages.ts';
import {
  dnsDocument,
  dnsFormOf,
  DOCUMENTS_LISTENER,
  textOfDocument,
  withDocument,
  type DnsForm,
  type DocumentText,
  type NameDocument,
} from '../xds/companion-documents.ts';
import { nameChanges, NO_NAMES, type Name, type NameTable } from '../xds/name-table.ts';
import type { ProxyConfig } from '../xds/proxy-context.ts';
import type { ProxyFeatures } from '../xds/proxy-features.ts';
import { XDS_MESSAGES } from './encode-resources.ts';
import type { EncodedPart } from './encoded-part.ts';
import type { ProxyView } from './proxy-view.ts';
import type { XdsSession } from './session.ts';
import type { XdsResource } from './session-messages.ts';

type Session = Pick<XdsSession, 'holds'>;

const VERSION_CHARACTERS = 22;
const NOTHING_HELD: ReadonlySet<string> = new Set();

export class CompanionNames {
  readonly #view: ProxyView;
  readonly #session: Session;
  #table: NameTable = NO_NAMES;
  /** Listeners of the table that the proxy has not accepted. */
  readonly #waiting = new Set<string>();
  /** What is answered of names with such listeners. */
  readonly #answers = new Map<string, Name>();
  /** Null: the proxy has not asked for listeners. */
  #held: ReadonlySet<string> | null = null;
  #document: { readonly text: DocumentText; readonly listener: JsonObject } | null = null;

  constructor(view: ProxyView, session: Session) {
    this.#view = view;
    this.#session = session;
  }

  /**
   * The proxy has asked for listeners. A name of which it has one was in the document of its last stream.
   * @param held names of the listeners that it already has, in any version
   */
  begin(held: Iterable<string>): void {
    if (this.#held !== null || this.#view.nameDocument === null) return;
    this.#held = new Set(held);
    this.#follow();
    for (const name of this.#table.values())
      if (!this.#isAnswered(name) && name.places.some((place) => this.#held?.has(place))) this.#answers.set(name.hostname, name);
    this.#held = NOTHING_HELD;
  }

  /**
   * Brings the document up to date. Call it after each change of the view, and after each answer of the proxy.
   * @returns the version that the listener had before; null where it stays
   */
  refresh(): string | null {
    const { nameDocument } = this.#view;
    if (nameDocument === null) return this.#end();
    if (this.#held !== null) this.#follow();
    for (const place of this.#waiting) if (this.#isOpen(place)) this.#waiting.delete(place);
    const text = this.#text(nameDocument.form);
    const { listener } = nameDocument;
    if (this.#document?.text === text && this.#document.listener === listener) return null;
    this.#document = { text, listener };
    const before = this.#view.get('Listener', DOCUMENTS_LISTENER)?.version ?? '';
    this.#view.documents = new DocumentsListener(listener, text);
    return before === this.#view.documents.version ? null : before;
  }

  /** The listener is that of the proxy's own part, or gone. */
  #end(): string | null {
    const before = this.#view.documents?.version ?? null;
    this.#view.documents = null;
    this.#document = null;
    return before;
  }

  /** Takes the table of the view: listeners that it has in addition wait, unless the proxy held them when it came. */
  #follow(): void {
    const { hostnames: next } = this.#view;
    if (next === this.#table) return;
    const [before, after] = [placesOf(this.#table), placesOf(next)];
    const { put, removed } = nameChanges(this.#table, next);
    for (const { hostname } of put) {
      const last = this.#table.get(hostname);
      if (last !== undefined && this.#isAnswered(last) && !this.#answers.has(hostname)) this.#answers.set(hostname, last);
    }
    for (const hostname of removed) this.#answers.delete(hostname);
    for (const place of this.#waiting) if (!after.has(place)) this.#waiting.delete(place);
    for (const { places } of put)
      for (const place of places) if (!before.has(place) && this.#held?.has(place) !== true) this.#waiting.add(place);
    this.#table = next;
  }

  #isAnswered({ hostname, places }: Name): boolean {
    return this.#answers.has(hostname) || !places.some((place) => this.#waiting.has(place));
  }

  #isOpen(place: string): boolean {
    if (!this.#session.holds('Listener', place)) return false;
    return this.#view.neededBy(place).every(({ type, resource }) => this.#session.holds(type, resource.name));
  }

  #text(form: DnsForm): DocumentText {
    if (this.#held === null) return documentsOf(NO_NAMES)(form, []);
    if (this.#waiting.size === 0) {
      this.#answers.clear();
      return documentsOf(this.#table)(form, []);
    }
    const waiting: Replaced[] = [];
    for (const { hostname, places } of this.#table.values()) {
      if (places.some((place) => this.#waiting.has(place))) waiting.push([hostname, this.#answers.get(hostname)]);
      else this.#answers.delete(hostname);
    }
    const isEmpty = waiting.length === this.#table.size && waiting.every(([, answer]) => answer === undefined);
    return isEmpty ? documentsOf(NO_NAMES)(form, []) : documentsOf(this.#table)(form, waiting);
  }
}

/** A name that stands in a document as it was before; undefined: it does not. */
type Replaced = readonly [hostname: string, answer: Name | undefined];

const placesOf = perObject(
  (table: NameTable): ReadonlySet<string> => new Set([...table.values()].flatMap(({ places }) => places)),
);

/** Documents of one table that are kept; proxies accept a new listener at about the same time. */
const MAX_DOCUMENTS = 8;

/** The documents of a table, for all proxies that have it: with other answers for the names that a proxy does not have yet. */
const documentsOf = perObject((table: NameTable) => {
  const known = new Map<string, DocumentText>();
  return (form: DnsForm, replaced: readonly Replaced[]): DocumentText => {
    const answers = replaced.map(([hostname, answer]) => [hostname, ...(answer?.addresses ?? [])]);
    const key = JSON.stringify([form.mesh, form.zone, form.hasIpv6, answers]);
    let text = known.get(key);
    if (text === undefined) {
      const names = new Map<string, Name | undefined>([...table, ...replaced]);
      text = textOfDocument(
        dnsDocument(
          [...names.values()].filter((name) => name !== undefined),
          form,
        ),
      );
      const [oldest] = known.keys();
      if (known.size >= MAX_DOCUMENTS && oldest !== undefined) known.delete(oldest);
      known.set(key, text);
    }
    return text;
  };
});

/** The listener with its documents. Its bytes are made when they are sent: they are long, and each proxy has its own folder in them. */
class DocumentsListener implements XdsResource {
  readonly name = DOCUMENTS_LISTENER;
  readonly version: string;
  readonly #listener: JsonObject;
  readonly #document: DocumentText;

  constructor(listener: JsonObject, document: DocumentText) {
    this.#listener = listener;
    this.#document = document;
    const content = `${textOfListener(listener)} ${document.tag}`;
    this.version = hash('sha256', content, 'base64url').slice(0, VERSION_CHARACTERS);
  }

  get bytes(): Uint8Array {
    const { name, version } = this;
    const json = withDocument(this.#listener, this.#document);
    const kumaResource = envoyJsonToBinary(XDS_MESSAGES.Listener, json);
    return encodeResourceEntry({ name, version, typeUrl: TYPE_URL_PREFIX + XDS_MESSAGES.Listener, kumaResource });
  }
}

const textOfListener = perObject((listener: JsonObject) => JSON.stringify(listener));

/** Where the names of a proxy stand; null where nothing resolves them, and where the listener of its documents could not be made. */
export function nameDocumentOf(
  proxy: DataplaneProxy,
  { companionDns }: ProxyFeatures,
  { listeners }: ProxyConfig,
  { resources }: EncodedPart,
): NameDocument | null {
  const listener = companionDns ? listeners.get(DOCUMENTS_LISTENER) : undefined;
  const isMade = resources.some(({ type, resource }) => type === 'Listener' && resource.name === DOCUMENTS_LISTENER);
  return listener === undefined || !isMade ? null : { listener, form: dnsFormOf(proxy) };
}

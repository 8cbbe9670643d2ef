// Sends documents to a control plane: in one transaction if they fit one request, else in several; one by one if the control plane has
// no transactions.
import { MeridianError, type Violation } from '../../base/errors.ts';
import { storedNameOf } from '../../document/read-document.ts';
import { label } from '../../resource/labels.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { Answer } from '../../answers/answers.ts';
import type { ApiClient, Index } from '../client/api-client.ts';
import type { ResourceDocument } from './read-files.ts';
import { membershipLines } from '../views/membership-text.ts';
import { problemText } from '../views/problem-text.ts';
import { objectOf } from '../../resource/read-json.ts';

export type Applied = {
  readonly document: ResourceDocument;
  readonly result: 'created' | 'updated' | 'unchanged' | 'failed';
  readonly messages: readonly string[];
  /** The changes of a dry run. */
  readonly diff?: readonly Answer<'Change'>[] | undefined;
};

/** The byte limit of one `POST /_apply` (D32), less the brackets. */
const MAX_BYTES = 32 * 1024 * 1024 - 1024;
/** The size of a part in bytes, if the whole does not fit. */
const PART_BYTES = 8 * 1024 * 1024;

/** The largest number of listed positions of one violation in many documents. */
const MAX_PLACES = 10;

type Sendable = { readonly document: ResourceDocument; readonly messages: readonly string[]; readonly json: string };

export type ApplyPlan = {
  readonly parts: readonly (readonly Sendable[])[];
  /** Whether the control plane takes transactions; otherwise each document is stored separately. */
  readonly isTransactional: boolean;
  readonly isOneTransaction: boolean;
};

/** The requests that will send these documents. */
export async function planApply(
  client: Pick<ApiClient, 'index'>,
  documents: readonly ResourceDocument[],
  limits: { readonly whole: number; readonly part: number } = { whole: MAX_BYTES, part: PART_BYTES },
): Promise<ApplyPlan> {
  const index = await client.index();
  const sendable = documents.map((document): Sendable => {
    const messages: string[] = [];
    return { document, messages, json: JSON.stringify(bodyFor(index, document, messages)) };
  });
  const isTransactional = index.product === 'Meridian';
  const parts = partsOf(sendable, limits);
  return { parts, isTransactional, isOneTransaction: isTransactional && parts.length <= 1 };
}

/**
 * Sends the parts in order, each after the answer to the previous one. A control plane without transactions reports refused documents
 * as `failed`, and stores the others.
 * @throws MeridianError that names every violation by file, line and column; then nothing of this part was stored
 */
export async function* sendPlan(client: ApiClient, plan: ApplyPlan, { dryRun }: { dryRun: boolean }): AsyncGenerator<Applied[]> {
  if (!plan.isTransactional) {
    if (dryRun) throw new MeridianError('invalid', 'this control plane is not Meridian: it has no dry run');
    for (const sendable of plan.parts.flat()) yield [await putOne(client, sendable)];
    return;
  }
  const meshes = dryRun ? (plan.parts[0] ?? []).filter(({ document }) => document.info.name === 'Mesh') : [];
  for (const [number, part] of plan.parts.entries()) {
    // A dry run stores no earlier part, but a mesh must exist: send the Meshes with each part.
    const ahead = number === 0 ? [] : meshes;
    const sent = [...ahead, ...part];
    try {
      const items = await client.applyAll(`[${sent.map(({ json }) => json).join(',')}]`, { dryRun });
      yield items.slice(ahead.length).flatMap(({ result, warnings = [], diff, membership }, index) => {
        const sendable = part[index];
        if (sendable === undefined) return [];
        return [
          {
            document: sendable.document,
            result,
            messages: [...sendable.messages, ...warnings, ...membershipLines(membership)],
            diff,
          },
        ];
      });
    } catch (error) {
      throw explained(error, sent);
    }
  }
}

/**
 * The changes that the documents would make, all in one request.
 * @throws MeridianError that names every violation by file, line and column
 */
export async function sendPreview(client: ApiClient, { parts, isTransactional }: ApplyPlan): Promise<Answer<'Preview'>> {
  if (!isTransactional) throw new MeridianError('invalid', 'this control plane is not Meridian: it has no preview');
  const sent = parts.flat();
  try {
    return await client.preview(`[${sent.map(({ json }) => json).join(',')}]`);
  } catch (error) {
    throw explained(error, sent);
  }
}

/** The changes that the deletion of these documents would make. @throws MeridianError as `sendPreview` */
export async function previewDeletion(client: ApiClient, documents: readonly ResourceDocument[]): Promise<Answer<'Preview'>> {
  if ((await client.index()).product !== 'Meridian')
    throw new MeridianError('invalid', 'this control plane is not Meridian: it has no preview');
  const named = documents.map((document) => {
    const { info, mesh } = document;
    return { type: info.name, ...(mesh !== '' && { mesh }), name: storedNameOf(document) };
  });
  return await client.preview(JSON.stringify({ delete: named }));
}

async function putOne(client: ApiClient, { document, messages, json }: Sendable): Promise<Applied> {
  try {
    const { created, warnings } = await client.put(document.info, document.mesh, document.name, JSON.parse(json) as JsonObject);
    return { document, result: created ? 'created' : 'updated', messages: [...messages, ...warnings] };
  } catch (error) {
    if (!(error instanceof MeridianError) || error.code === 'unavailable') throw error;
    const reasons = error.violations.map(({ field, reason }) => `${document.placeOf(field)}: ${field}: ${reason}`);
    return { document, result: 'failed', messages: reasons.length > 0 ? reasons : [`${document.place}: ${error.message}`] };
  }
}

function partsOf(sendable: readonly Sendable[], { whole, part }: { whole: number; part: number }): Sendable[][] {
  const sizes = sendable.map(({ json }) => Buffer.byteLength(json) + 1);
  if (sizes.reduce((sum, size) => sum + size, 0) <= whole) return [[...sendable]];
  const parts: Sendable[][] = [];
  let room = 0;
  for (const [index, one] of sendable.entries()) {
    const size = sizes[index] ?? 0;
    if (parts.length === 0 || size > room) {
      parts.push([]);
      room = part;
    }
    parts.at(-1)?.push(one);
    room -= size;
  }
  return parts;
}

/** Replaces the number of a document in a violation by the position of the field. */
function explained(error: unknown, sent: readonly Sendable[]): unknown {
  if (!(error instanceof MeridianError)) return error;
  if (error.code === 'not_found' && error.missing?.type === 'Mesh') {
    const mesh = error.missing.name;
    const places = sent.flatMap(({ document }) => (document.mesh === mesh ? [`  ${document.placeOf('mesh')}: mesh`] : []));
    const said = `there is no mesh ${JSON.stringify(mesh)}; give its Mesh in the same call. It is referenced at`;
    return new MeridianError('not_found', `${said}\n${places.slice(0, MAX_PLACES).join('\n')}`, { cause: error });
  }
  if (error.violations.length === 0) return error;
  const problems = error.violations.map((violation) => problemOf(sent, violation));
  return new MeridianError(error.code, `${error.message}:\n${problems.join('\n')}`, { cause: error });
}

function problemOf(sent: readonly Sendable[], { field, reason, related = '' }: Violation): string {
  const own = placeIn(sent, field);
  if (own === undefined) return `  ${field}: ${reason}`;
  const other = placeIn(sent, related);
  return problemText(own.place, own.rest, other === undefined ? reason : reason.replaceAll(related, () => other.place));
}

/** The position in the files of a field of the request, `documents[3].name`; `rest` is the field inside its document. */
function placeIn(sent: readonly Sendable[], field: string): { place: string; rest: string } | undefined {
  const [, number, rest = ''] = /^documents\[(\d+)\]\.?(.*)$/s.exec(field) ?? [];
  const document = number === undefined ? undefined : sent[Number(number)]?.document;
  return document && { place: rest === '' ? document.place : document.placeOf(rest), rest };
}

/** For a zone with a global, a missing `kuma.io/origin` is added with a message (D6). */
function bodyFor({ mode }: Index, { info, body }: ResourceDocument, messages: string[]): JsonObject {
  const labels = objectOf(body['labels']);
  if (mode !== 'zone' || info.codec.kind !== 'json' || labels[label.origin] !== undefined) return body;
  messages.push(`label ${label.origin}: zone was added`);
  return { ...body, labels: { ...labels, [label.origin]: 'zone' } };
}

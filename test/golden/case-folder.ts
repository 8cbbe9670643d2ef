// A case is a folder: the input as numbered files of YAML documents, and the expected content of each store.
// Invariant: the expected text depends only on the rows; it is sorted and has no times and versions.
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { readDocuments } from '../../src/cli/documents/read-files.ts';
import { compareKeys, type Json, type Resource } from '../../src/resource/types.ts';
import { documentsIn, givenRow, withSortedKeys, writeOrRemove } from '../support/case-files.ts';
import { sides, type ControlPlanes, type Refusal, type Side } from './control-planes.ts';

/** Folder of all cases. */
export const casesFolder = join(import.meta.dirname, 'cases');

/**
 * `NN-<side>[.<what>].yaml`. Without `what` the documents are applied over REST. `delete` deletes them, `refused` applies them and
 * expects a refusal of every one, `store` writes rows past REST, `before` does so before the zones connect.
 */
const STEP = /^\d\d-(global|east|west)(?:\.(delete|refused|store|before))?\.yaml$/;
type Step = { readonly file: string; readonly side: Side; readonly what: string };

export function caseNames(): string[] {
  return readdirSync(casesFolder).sort();
}

/** The steps of a case in order. @throws Error when a file is neither a step, nor expected, nor the README */
export function stepsOf(name: string): Step[] {
  const folder = join(casesFolder, name);
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const [, side, what = 'apply'] = STEP.exec(file) ?? [];
      if (side !== undefined) return [{ file: join(folder, file), side: side as Side, what }];
      if (file === 'README.md' || /^expect\.(global|east|west|refusals)\.yaml$/.test(file)) return [];
      throw new Error(`${join(folder, file)} is no step: name it NN-<global|east|west>[.<delete|refused|store|before>].yaml`);
    });
}

/** Runs the step of one file. The caller waits for rest. */
export async function runStep({ file, side, what }: Step, planes: ControlPlanes): Promise<void> {
  if (what === 'store' || what === 'before') return await writeRows(file, planes, side);
  for (const { info, mesh, name, body, place } of await readDocuments([file], 'default')) {
    const url = `${info.scope === 'Mesh' ? `/meshes/${mesh}` : ''}/${info.path}/${encodeURIComponent(name)}`;
    const { status, text } =
      what === 'delete' ? await planes.call(side, 'DELETE', url) : await planes.call(side, 'PUT', url, body);
    const isRefused = status >= 400 && status < 500;
    if (isRefused !== (what === 'refused') || status >= 500)
      throw new Error(`${place}: ${side} answered ${String(status)}: ${text}`);
    if (isRefused) planes.refusals.push({ by: side, over: 'REST', type: info.name, message: reasonOf(text) });
  }
}

/** Rows written past REST: omitted fields stay as stored. */
async function writeRows(file: string, planes: ControlPlanes, side: Side): Promise<void> {
  for (const document of documentsIn(file)) {
    const { type, mesh, name, labels, spec, status } = givenRow.parse(document);
    const key = { type, mesh, name };
    const stored = await planes.stores[side].get(key);
    const isEdit = labels !== undefined || spec !== undefined;
    await planes.stores[side].write({
      op: 'put',
      key,
      labels: labels ?? stored?.labels ?? {},
      spec: spec ?? stored?.spec ?? {},
      status,
      // The trigger of the table clears the version of an edited copy; its status may change.
      syncVersion: isEdit && stored?.syncVersion ? '' : stored?.syncVersion,
    });
  }
}

/** Name of the expected file → its content from the stores; null for no file. */
export function textsOf(planes: ControlPlanes): Map<string, string | null> {
  const texts = new Map<string, string | null>();
  for (const side of sides) {
    const rows = [...planes.stores[side].rows.values()].sort((a, b) => compareText(a.type, b.type) || compareKeys(a, b));
    texts.set(`expect.${side}.yaml`, documentsOf(rows.map(rowOf)));
  }
  // A refusal is repeated with every attempt, so each counts once.
  const refusals = [...new Set(planes.refusals.map((refusal) => JSON.stringify(refusal)))].sort();
  texts.set(
    'expect.refusals.yaml',
    refusals.length === 0 ? null : documentsOf(refusals.map((text) => JSON.parse(text) as Refusal)),
  );
  return texts;
}

/** The text of an expected file, laid out as `textsOf` does; null where there is none. */
export function expectedText(name: string, file: string): string | null {
  const path = join(casesFolder, name, file);
  if (!readdirSync(join(casesFolder, name)).includes(basename(path))) return null;
  return documentsOf(documentsIn(path));
}

export function writeExpected(name: string, file: string, text: string | null): void {
  writeOrRemove(join(casesFolder, name, file), text);
}

function rowOf({ type, mesh, name, labels, spec, status, owner }: Resource): Json {
  const ownerText = owner === null ? null : [owner.type, owner.mesh, owner.name].filter((part) => part !== '').join('/');
  return {
    type,
    mesh,
    name,
    labels: withSortedKeys(labels),
    spec: withSortedKeys(spec),
    status: withSortedKeys(status),
    owner: ownerText,
  };
}

function documentsOf(items: readonly unknown[]): string {
  return items.map((item) => stringify(item, { singleQuote: true, lineWidth: 0 })).join('---\n');
}

/** The violations of an error body, or its detail if it has none. */
function reasonOf(text: string): string {
  const { detail, invalid_parameters: violations = [] } = JSON.parse(text) as {
    detail: string;
    invalid_parameters?: { field: string; reason: string }[];
  };
  return violations.length === 0 ? detail : violations.map(({ field, reason }) => `${field}: ${reason}`).join('\n');
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

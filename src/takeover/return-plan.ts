// The way back to a Kuma global: each row in the form of Kuma, and what has none. Pure.
import { isDeepStrictEqual } from 'node:util';
import { compareText } from '../base/compare-text.ts';
import { reasonsWithheld, toKumaForm } from '../validation/kuma-form.ts';
import { displayNameOf } from '../resource/labels.ts';
import { olderKeysIn } from '../resource/older-keys.ts';
import { findType } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import type { TakenRow } from './taken-row.ts';

export type Rewrite<R extends TakenRow> = { readonly row: R; readonly spec: JsonObject };

/** A part of a row that no Kuma control plane reads. @property field empty for the whole row */
type Obstacle = {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly field: string;
  readonly reason: string;
};

export type ReturnPlan<R extends TakenRow> = {
  readonly rewrites: readonly Rewrite<R>[];
  readonly obstacles: readonly Obstacle[];
};

const READ_OVER = 'Kuma 3 reads over it';

/**
 * Plans the way back.
 * @param rows the rows of the global, those of zones too: a Kuma global refuses none of them
 * @returns the rows whose spec changes, and the parts that stay unread, in order of type, mesh and name. A protobuf spec never
 * changes, because Kuma itself reads over the keys that it does not know
 */
export function returnPlan<R extends TakenRow>(rows: Iterable<R>): ReturnPlan<R> {
  const rewrites: Rewrite<R>[] = [];
  const obstacles: Obstacle[] = [];
  for (const row of rows) {
    const { type, mesh, spec } = row;
    const info = findType(type);
    if (info === undefined) continue;
    const report = (field: string, reason: string): void =>
      void obstacles.push({ type, mesh, name: displayNameOf(row), field, reason });
    if (info.isOwn) {
      report('', 'Kuma has no such type and does not serve it; the mesh routes that it became stay');
      continue;
    }
    if (info.codec.kind === 'proto') continue;
    for (const { field } of olderKeysIn(info, spec)) report(field, READ_OVER);
    const form = toKumaForm(info, { ...row, status: undefined });
    if ('resource' in form) {
      if (!isDeepStrictEqual(form.resource.spec, spec)) rewrites.push({ row, spec: form.resource.spec });
      continue;
    }
    for (const { field, reason } of reasonsWithheld(info, spec)) report(field, reason);
  }
  const order = (a: Obstacle, b: Obstacle): number =>
    compareText(a.type, b.type) || compareText(a.mesh, b.mesh) || compareText(a.name, b.name) || compareText(a.field, b.field);
  return { rewrites, obstacles: obstacles.sort(order) };
}

// The origin of each value of a merged conf: the last contribution that set it (policies 3.3, 3.4).
import type { Json } from '../resource/types.ts';
import { isAppended } from './merge-conf.ts';
import { isObject } from '../resource/read-json.ts';
import type { Contribution } from './resource-rules.ts';

/** A value other than an object, its path (`http.requestTimeout`) and the contributions that set it: several for an appended list. */
export type ConfValue = { readonly path: string; readonly value: Json; readonly from: readonly Contribution[] };

type Leaf = { value: Json; from: Contribution[] };
/** Leaves and branches by key. */
type Branch = Map<string, Leaf | Branch>;

/** The values of the contributions' merged conf, in the order in which they first appear. */
export function confSources(contributions: readonly Contribution[]): readonly ConfValue[] {
  let values = known.get(contributions);
  if (values === undefined) {
    const root: Branch = new Map();
    for (const contribution of contributions) write(root, contribution.conf, contribution);
    known.set(contributions, (values = [...list(root, '')]));
  }
  return values;
}

/** Ports of a service, and services under the Mesh's key, share their contributions. */
const known = new WeakMap<readonly Contribution[], readonly ConfValue[]>();

function write(branch: Branch, conf: Record<string, Json>, by: Contribution): void {
  for (const [key, value] of Object.entries(conf)) {
    const known = branch.get(key);
    if (isObject(value) && Object.keys(value).length > 0) {
      const child: Branch = known instanceof Map ? known : new Map<string, Leaf | Branch>();
      branch.set(key, child);
      write(child, value, by);
    } else if (
      isAppended(key) &&
      Array.isArray(value) &&
      known !== undefined &&
      !(known instanceof Map) &&
      Array.isArray(known.value)
    )
      branch.set(key, { value: [...known.value, ...value], from: [...known.from, by] });
    // An empty object over an object with fields changes nothing.
    else if (!(isObject(value) && known instanceof Map)) branch.set(key, { value, from: [by] });
  }
}

function* list(branch: Branch, prefix: string): Generator<ConfValue> {
  for (const [key, item] of branch) {
    if (item instanceof Map) yield* list(item, `${prefix}${key}.`);
    else yield { path: prefix + key, ...item };
  }
}

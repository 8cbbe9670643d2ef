// The dump of a real Kubernetes global of Kuma 2.14.3 with two zones: its resources, and the Secrets and ConfigMaps of its namespace.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/resource/types.ts';
import { readObjects } from '../../src/takeover/read-dump.ts';
import type { ZoneKind } from '../../src/takeover/zone-releases.ts';

export const DUMP_FILES = ['../takeover/kubernetes-2.14.yaml', 'kubernetes-system.yaml'].map((name) =>
  join(import.meta.dirname, name),
);

/** What the dump does not tell: zone west ran a build of Kuma 3 that gave no version. */
export const WEST: ReadonlyMap<string, ZoneKind> = new Map([['west', '3.x']]);

export function dumpedObjects(): JsonObject[] {
  return DUMP_FILES.flatMap((file) => readObjects(file, readFileSync(file, 'utf8')));
}

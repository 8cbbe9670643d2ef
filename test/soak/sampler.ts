// Memory, files and resources of a running control plane: from /proc, and from its own metrics.
import { readdirSync } from 'node:fs';
import { memoryMb } from '../../bench/measure.ts';
import { call } from './call.ts';
import type { ProcessSample } from './judge.ts';

export type Sampled = Pick<ProcessSample, 'name' | 'role' | 'life'> & { readonly pid: number; readonly diagnosticsPort: number };

const RESOURCE = /^nodejs_active_resources\{type="([^"]+)"[^}]*\} (\d+)$/gm;
const HEAP = /^nodejs_heap_size_used_bytes\{[^}]*\} (\S+)$/m;

/** Null where the process does not answer, or ends meanwhile. */
export async function sampleProcess({ name, role, life, pid, diagnosticsPort }: Sampled): Promise<ProcessSample | null> {
  const { status, text } = await call({ port: diagnosticsPort, method: 'GET', path: '/metrics' });
  if (status !== 200) return null;
  try {
    return {
      ...{ name, role, life, memoryMb: memoryMb(pid), files: readdirSync(`/proc/${String(pid)}/fd`).length },
      ...activityOf(text),
    };
  } catch {
    return null;
  }
}

/** Of the text of `/metrics`. */
export function activityOf(text: string): Pick<ProcessSample, 'heapMb' | 'resources'> {
  const resources = Object.fromEntries([...text.matchAll(RESOURCE)].map(([, kind = '', count]) => [kind, Number(count)]));
  return { heapMb: Number(HEAP.exec(text)?.[1] ?? NaN) / 1e6, resources };
}

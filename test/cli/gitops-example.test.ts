// The example of `examples/gitops`: the command of its Job, on its documents.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { testApi } from '../api/test-api.ts';
import { runMeridian } from '../support/run-meridian.ts';
import { TinyStore } from '../support/tiny-store.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/gitops');

type Job = {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly [
          { readonly args: readonly string[]; readonly volumeMounts: readonly [{ mountPath: string }] },
        ];
      };
    };
  };
};

it('the Job applies the folder, and deletes what the folder does not have any more', async () => {
  const { spec } = parse(readFileSync(join(EXAMPLE, 'job.yaml'), 'utf8')) as Job;
  const [{ args, volumeMounts }] = spec.template.spec.containers;
  const command = args.map((word) => (word === volumeMounts[0].mountPath ? join(EXAMPLE, 'team-a') : word));
  const store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'shop' }, labels: {}, spec: {} });
  const old = { type: 'MeshTimeout', mesh: 'shop', name: 'old' };
  await store.write({ op: 'create', key: old, labels: { team: 'a' }, spec: { to: [] } });
  const api = testApi(store, 'global');
  try {
    const address = await api.listen({ host: '127.0.0.1', port: 0 });
    const { code, stdout } = await runMeridian([...command, '--address', address]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'MeshTimeout shop/cart-requests created\nMeshTimeout shop/old pruned\n',
    });
    const again = await runMeridian([...command, '--address', address]);
    expect(again.stdout).toBe('MeshTimeout shop/cart-requests unchanged\n');
  } finally {
    await api.close();
  }
});

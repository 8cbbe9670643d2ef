// `meridian takeover return`: the rows of a global in the form of Kuma, before a Kuma global runs on them again. Nothing is written without
// `--write`, and never beside a running control plane.
import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { MeridianError } from '../../base/errors.ts';
import type { Resource } from '../../resource/types.ts';
import type { ReturnPlan } from '../../takeover/return-plan.ts';
import { EXIT } from '../exit-codes.ts';
import { addOutputOption } from '../options.ts';
import { isForPrograms, note, print, serialize, type Format } from '../output.ts';
import { addConfigOptions, explainDatabase, writeForOwnerAlone, type ConfigOptions } from '../run-control-plane.ts';
import { table } from '../views/table.ts';
import { storeName, storeOf } from '../with-database.ts';

type Options = ConfigOptions & { readonly write?: boolean; readonly output: Format };

/** Milliseconds for which a leader that ends may keep its lock. */
const LOCK_MS = 5_000;

const HELP = `
Kuma does not read some forms that Meridian takes: a service by name, hash
policies inside a balancer. Its zones refuse such rows. This command rewrites
them, and lists what no Kuma control plane reads. Stop every global first.

The exit code is 1 while such parts exist.

Examples:
  meridian takeover return --config global.yaml          what would change
  meridian takeover return --config global.yaml --write`;

export function addTakeoverReturn(takeover: Command): void {
  const command = takeover
    .command('return')
    .description('rewrite the rows of a global for the way back to Kuma')
    .option('--write', 'store the rewritten rows; without it they are listed');
  addConfigOptions(addOutputOption(command, ['table', 'json', 'yaml']), 'global')
    .addHelpText('after', HELP)
    .action(giveBack);
}

async function giveBack({ write = false, output, ...options }: Options): Promise<void> {
  const config = await storeOf(options, 'global');
  note(storeName(config));
  writeForOwnerAlone();
  const { createLogger } = await import('../../base/log.ts');
  const { openStore } = await import('../../store/open-store.ts');
  const { readStoredRows, storeRewrites } = await import('../../takeover/return-rows.ts');
  const { returnPlan } = await import('../../takeover/return-plan.ts');
  const store = await openStore(config, { clock: systemClock, log: createLogger('warn') }).catch((error: unknown) =>
    explainDatabase(error, config),
  );
  try {
    const plan = returnPlan(await readStoredRows(store));
    if (write) {
      const isStored = await storeRewrites(store, plan.rewrites, AbortSignal.timeout(LOCK_MS));
      if (!isStored)
        throw new MeridianError('conflict', 'a control plane runs on this database: stop every one. Nothing was written.');
    }
    show(plan, { write, output });
  } finally {
    await store.close();
  }
}

function show({ rewrites, obstacles }: ReturnPlan<Resource>, { write, output }: { write: boolean; output: Format }): void {
  if (obstacles.length > 0) process.exitCode = EXIT.failed;
  const rewritten = rewrites.map(({ row: { type, mesh, name } }) => ({ type, mesh, name }));
  if (isForPrograms(output)) {
    print(serialize({ written: write, rewritten, unread: obstacles }, output));
    return;
  }
  for (const { type, mesh, name } of rewritten) print(`${[type, mesh, name].join('/')} ${write ? 'rewritten' : 'to rewrite'}`);
  if (obstacles.length > 0)
    print(
      table(
        ['RESOURCE', 'FIELD', 'NOT READ BY KUMA'],
        obstacles.map(({ type, mesh, name, field, reason }) => [[type, mesh, name].join('/'), field, reason]),
      ),
    );
  note(
    `${String(rewrites.length)} rows ${write ? 'are rewritten' : 'to rewrite (--write stores them)'}, ${String(obstacles.length)} parts that Kuma does not read`,
  );
}

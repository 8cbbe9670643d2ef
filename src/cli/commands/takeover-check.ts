// `meridian takeover check`: what the zones of a Kuma global would lose, from its database or a dump. It writes nothing.
import { Option, type Command } from 'commander';
import type { Loss } from '../../takeover/losses.ts';
import type { KumaRelease, TakenRow } from '../../takeover/taken-row.ts';
import { EXIT } from '../exit-codes.ts';
import { addFileOption, addOutputOption } from '../options.ts';
import { isForPrograms, note, print, serialize, type Format } from '../output.ts';
import { addConfigOptions, type ConfigOptions } from '../run-control-plane.ts';
import { kindsOf, lossesTable, zonesText } from '../views/takeover-text.ts';
import { storeName, storeOf, withDatabase } from '../with-database.ts';

type Options = ConfigOptions & {
  readonly file?: readonly string[];
  readonly release?: '2' | '3';
  readonly accept?: string;
  readonly output: Format;
};

const HELP = `
It reads the database of the store options, or files of \`kumactl export\` and
\`kubectl get -o yaml\`. A global does the same check on a database of Kuma, and
opens its port for zones when nothing is lost that was not accepted by name:
  --set multizone.global.takeover.accept=Mesh.mtls,MeshTimeout.from

The exit code is 1 while something would be lost.

Examples:
  meridian takeover check --store postgres --set store.postgres.dbName=kuma
  meridian takeover check --config global.yaml --release 3
  meridian takeover check -f crds.yaml -f secrets.yaml -o json`;

export function addTakeoverCheck(takeover: Command): void {
  const command = takeover
    .command('check')
    .description('what zones would lose when a Meridian global takes over from Kuma')
    .addOption(
      new Option('--release <major>', 'of the Kuma global; without it the zones that ever connected tell it').choices(['2', '3']),
    )
    .option('--accept <kinds>', 'leave these kinds out, as multizone.global.takeover.accept does');
  addConfigOptions(addOutputOption(addFileOption(command, { required: false }), ['table', 'json', 'yaml']), 'global')
    .addHelpText('after', HELP)
    .action(check);
}

async function check({ file, release: given, accept = '', output, ...options }: Options): Promise<void> {
  const { lossesOf, unaccepted } = await import('../../takeover/losses.ts');
  const { releaseOf } = await import('../../takeover/taken-row.ts');
  const rows = file === undefined ? await rowsOfDatabase(options) : await rowsOfFiles(file);
  const release: KumaRelease = given === undefined ? releaseOf(rows) : given === '2' ? 2 : 3;
  const losses = unaccepted(
    lossesOf(rows, release),
    accept.split(',').map((kind) => kind.trim()),
  );
  if (given === undefined)
    note(
      release === 2
        ? 'read as rows of Kuma 2.x, because no zone of Kuma 3 ever connected; --release 3 reads them as a Kuma 3 does'
        : 'read as rows of Kuma 3, because a zone of Kuma 3 connected',
    );
  if (losses.length > 0) process.exitCode = EXIT.failed;
  const { zoneKinds } = await import('../../takeover/zone-releases.ts');
  const { reasonsBy, zoneViews } = await import('../../takeover/zone-views.ts');
  const why = reasonsBy(losses, ({ field, reason }) => (field === '' ? reason : `${field}: ${reason}`));
  const reasons = { changed: why, removed: why, added: why };
  const zones = zoneViews(zoneKinds(rows), { before: rows, after: rows, reasons });
  if (isForPrograms(output)) {
    print(serialize({ total: losses.length, rows: rows.length, release, items: losses, zones }, output));
    return;
  }
  if (zones.length > 0) print(`${zonesText(zones)}\n`);
  if (losses.length === 0) note(`zones lose nothing of these ${String(rows.length)} rows`);
  else printLosses(losses);
}

function printLosses(losses: readonly Loss[]): void {
  print(lossesTable(losses));
  note(`\n${String(losses.length)} losses. Write what the remedies say, or accept them by name:`);
  note(`  --set multizone.global.takeover.accept=${kindsOf(losses)}`);
}

async function rowsOfDatabase(options: ConfigOptions): Promise<TakenRow[]> {
  const store = await storeOf(options, 'global');
  note(storeName(store));
  const { readTakenRows } = await import('../../takeover/read-database.ts');
  let rows: TakenRow[] = [];
  await withDatabase(store, async (database) => {
    rows = await readTakenRows(database);
  });
  return rows;
}

async function rowsOfFiles(files: readonly string[]): Promise<TakenRow[]> {
  const { readDump } = await import('../../takeover/read-dump.ts');
  const { readSources } = await import('../documents/sources.ts');
  return (await readSources(files)).flatMap(({ name, text }) => readDump(name, text));
}

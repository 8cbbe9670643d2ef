// `meridian import kuma-kubernetes`: the resources of a Kuma global on Kubernetes into the store of a Meridian global that does not run yet.
import { InvalidArgumentError, type Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import type { ImportPlan } from '../../import/import-plan.ts';
import type { JsonObject } from '../../resource/types.ts';
import { ZONE_KINDS, type ZoneKind } from '../../takeover/zone-releases.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { addFileOption, addOutputOption } from '../options.ts';
import { isForPrograms, note, print, serialize, type Format } from '../output.ts';
import { addConfigOptions, explainDatabase, writeForOwnerAlone, type ConfigOptions } from '../run-control-plane.ts';
import { groupedTable, kindsOf, lossesTable, zonesText } from '../views/takeover-text.ts';
import { storeName, storeOf } from '../with-database.ts';

type Options = ConfigOptions & {
  readonly file?: readonly string[];
  readonly kubeconfig?: string;
  readonly systemNamespace: string;
  readonly check?: boolean;
  readonly accept?: string;
  readonly zone?: ReadonlyMap<string, ZoneKind>;
  readonly output: Format;
};

/** Milliseconds for which a leader that ends may keep its lock. */
const LOCK_MS = 5_000;

const HELP = `
The dump is what kubectl prints of the cluster of the global:
  kinds=$(kubectl api-resources --api-group=kuma.io -o name | paste -sd,)
  kubectl get $kinds -A -o yaml > crds.yaml
  kubectl get secrets,configmaps -n kuma-system -o yaml > system.yaml
With --kubeconfig the command runs kubectl itself, and only reads.

Names, labels, tokens and the cluster id stay: for the zones it is the same
global. Copies of zones, insights and objects of other products are left out.
Spellings of Kuma 2.x are converted where their meaning stays. If anything else
would be lost, nothing is stored and the exit code is 1. Accept a loss by the
name that is printed, or change the resource in the old global and dump again.

The store must be new. A PostgreSQL needs \`meridian migrate up\` before.

Examples:
  meridian import kuma-kubernetes -f crds.yaml -f system.yaml --check
  meridian import kuma-kubernetes -f dump --accept Mesh.mtls --config g.yaml
  meridian import kuma-kubernetes --kubeconfig ~/.kube/config --check -o json`;

export function addImportKumaKubernetes(parent: Command): void {
  const command = parent
    .command('kuma-kubernetes')
    .description('store the resources of a Kuma global that runs on Kubernetes')
    .option('--check', 'store nothing; show what would be stored, left out, converted and lost')
    .option('--accept <kinds>', 'kinds of losses to accept, as they are printed: Mesh.mtls,TrafficPermission')
    .option(
      '--zone <zone=kind>',
      `what a zone runs, if the dump does not tell: ${ZONE_KINDS.join(', ')}; may be given again`,
      zoneOf,
    )
    .option('--kubeconfig <file>', 'read the cluster with kubectl, in place of -f')
    .option('--system-namespace <namespace>', 'where Kuma runs, for --kubeconfig', 'kuma-system');
  addConfigOptions(addOutputOption(addFileOption(command, { required: false }), ['table', 'json', 'yaml']), 'global')
    .addHelpText('after', HELP)
    .action(importAll);
}

function zoneOf(value: string, before: ReadonlyMap<string, ZoneKind> = new Map()): Map<string, ZoneKind> {
  const [zone = '', given] = value.split('=');
  const kind = ZONE_KINDS.find((one) => one === given);
  if (zone === '' || kind === undefined)
    throw new InvalidArgumentError(`It must be ZONE=KIND, where the kind is ${ZONE_KINDS.join(', ')}.`);
  return new Map(before).set(zone, kind);
}

async function importAll({
  file,
  kubeconfig,
  systemNamespace,
  check = false,
  accept = '',
  zone = new Map(),
  output,
  ...options
}: Options): Promise<void> {
  if ((file === undefined) === (kubeconfig === undefined)) throw new UsageError('give the dump with -f, or --kubeconfig');
  const { importPlan } = await import('../../import/import-plan.ts');
  const objects =
    kubeconfig === undefined ? await objectsOfFiles(file ?? []) : await objectsOfCluster(kubeconfig, systemNamespace);
  const plan = importPlan(objects, { accept: accept.split(',').map((kind) => kind.trim()), kinds: zone });
  const isStored = !check && plan.losses.length === 0;
  if (isStored) await store(plan, options);
  if (plan.losses.length > 0) process.exitCode = EXIT.failed;
  if (isForPrograms(output)) print(serialize(forPrograms(plan, isStored), output));
  else show(plan, isStored);
}

async function objectsOfFiles(files: readonly string[]): Promise<JsonObject[]> {
  const { readObjects } = await import('../../takeover/read-dump.ts');
  const { readSources, shownName } = await import('../documents/sources.ts');
  return (await readSources(files)).flatMap(({ name, text }) => readObjects(shownName(name), text));
}

async function objectsOfCluster(kubeconfig: string, systemNamespace: string): Promise<JsonObject[]> {
  const { readCluster } = await import('../../import/read-cluster.ts');
  return await readCluster({ kubeconfig, systemNamespace });
}

async function store({ rows }: ImportPlan, options: ConfigOptions): Promise<void> {
  const config = await storeOf(options, 'global');
  note(storeName(config));
  writeForOwnerAlone();
  const { createLogger } = await import('../../base/log.ts');
  const { openStore } = await import('../../store/open-store.ts');
  const { storeRows } = await import('../../import/store-rows.ts');
  const opened = await openStore(config, { clock: systemClock, log: createLogger('warn') }).catch((error: unknown) =>
    explainDatabase(error, config),
  );
  try {
    await storeRows(opened, rows, AbortSignal.timeout(LOCK_MS));
  } finally {
    await opened.close();
  }
}

/** Without the specs: those of Secrets hold keys. */
function forPrograms({ rows, leftOut, converted, losses, zones }: ImportPlan, isStored: boolean): object {
  const imported = rows.map(({ type, mesh, name }) => ({ type, mesh, name }));
  return { stored: isStored, imported, leftOut, converted, losses, zones };
}

function show({ rows, leftOut, converted, losses, zones }: ImportPlan, isStored: boolean): void {
  const sections = [
    groupedTable(
      ['ROWS', 'TYPE', isStored ? 'STORED' : 'TO STORE'],
      rows.map((row) => [{ ...row, type: '' }, row.type]),
    ),
    leftOut.length > 0 &&
      groupedTable(
        ['LEFT OUT', 'REASON', 'RESOURCES'],
        leftOut.map((one) => [one, one.reason]),
      ),
    converted.length > 0 &&
      groupedTable(
        ['CONVERTED', 'HOW', 'RESOURCES'],
        converted.map((one) => [one, conversionText(one)]),
      ),
    losses.length > 0 && lossesTable(losses),
    zones.length > 0 && zonesText(zones),
  ];
  print(sections.filter((section) => section !== false).join('\n\n'));
  note(`\n${String(rows.length)} rows ${isStored ? 'are stored' : 'to store'}, ${String(leftOut.length)} objects are left out`);
  if (losses.length === 0) return;
  note(`${String(losses.length)} losses; nothing is stored. Write what the remedies say, or accept them by name:`);
  note(`  --accept ${kindsOf(losses)}`);
}

function conversionText({ field, what }: ImportPlan['converted'][number]): string {
  return field === '' ? what : `${field}: ${what}`;
}

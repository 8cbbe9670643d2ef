// `meridian apply`: documents are checked here, then stored together.
import type { Command } from 'commander';
import { MeridianError } from '../../base/errors.ts';
import type { ApiClient } from '../client/api-client.ts';
import { planApply, sendPlan, type Applied, type ApplyPlan } from '../documents/apply-requests.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { readDocuments } from '../documents/read-files.ts';
import { inSystemNamespace } from '../documents/system-namespace.ts';
import { prune, type Pruned } from '../documents/prune.ts';
import { selectionOf } from '../client/selector.ts';
import { addFileOption, addMeshOption, addOutputOption, collect, type MeshOptions, type OutputOptions } from '../options.ts';
import { exitCodeOfRollouts, UsageError } from '../exit-codes.ts';
import { isForPrograms, note, print, printPainted, serialize } from '../output.ts';
import { rolloutsText } from '../views/rollout-text.ts';
import { describeDocument } from '../views/problem-text.ts';
import type { Answer } from '../../answers/answers.ts';
import { storedNameOf } from '../../document/read-document.ts';
import { addWaitOptions, rolloutsOf, waitOf, WAIT_HELP, type WaitOptions, type Written } from '../client/follow-rollouts.ts';
import { problemsOf } from '../views/gateway-route.ts';
import { checkedRoute } from '../client/route-conditions.ts';
import { differenceOf } from '../documents/show-difference.ts';

type Options = ConnectOptions &
  MeshOptions &
  OutputOptions &
  WaitOptions & {
    readonly file: readonly string[];
    readonly dryRun?: boolean;
    readonly prune?: boolean;
    readonly strict?: boolean;
    readonly selector?: readonly string[];
  };

const HELP = `
All documents are checked first, also for unknown keys. An error names the file,
line and column, and then nothing is changed. Valid documents are stored in one
transaction: all or nothing. More than 32 MiB need several transactions, and a
message says so.

Objects of Kubernetes are taken as they are, also a List. Objects of other
products beside them are left out, with a line each.

--prune looks at the resources of all meshes and types that were written on this
control plane. Meshes, Zones, secrets and computed resources stay. A resource
that cannot be deleted is failed in the answer, and the exit code is 1.
--dry-run finds it too.
${WAIT_HELP}

Examples:
  meridian apply -f examples/shop/global
  meridian apply -f timeout.yaml --dry-run     show what would change
  meridian apply -f timeout.yaml --wait        until the zones have it
  meridian apply -f team-a --prune -l team=a --dry-run
  kubectl kustomize team-a | meridian apply -f -`;

export function addApplyCommand(program: Command): void {
  const command = program.command('apply').description('create or change resources from files');
  addFileOption(command, { required: true })
    .option('--strict', 'refuse objects of other products, in place of leaving them out')
    .option('--dry-run', 'show the changes without making them')
    .option('--prune', 'then delete the resources with the labels of -l that the files do not have; see below')
    .option('-l, --selector <labels>', 'for --prune: team=a,tier!=db,!old', collect);
  addConnectOptions(addWaitOptions(addOutputOption(addMeshOption(command), ['table', 'json', 'yaml'])))
    .addHelpText('after', HELP)
    .action(apply);
}

async function apply({
  file,
  mesh,
  output,
  dryRun = false,
  prune: prunes = false,
  strict = false,
  selector,
  ...connection
}: Options): Promise<void> {
  if (prunes !== (selector !== undefined))
    throw new UsageError('--prune needs -l, and -l needs --prune: it chooses what is deleted');
  if (selector?.some((one) => one.trim() === '') === true)
    throw new UsageError('-l: must not be blank: it chooses what --prune deletes');
  const selection = selectionOf({ selector });
  const waitMs = dryRun ? 0 : waitOf(connection);
  const read = await readDocuments(file, mesh, { strict });
  const { checkDocuments, unansweredWarnings } = await import('../documents/check-documents.ts');
  const early = checkDocuments(read);
  const client = await connect(connection);
  const documents = await inSystemNamespace(client, read);
  const warnings = documents.every((document, index) => document === read[index]) ? early : checkDocuments(documents);
  const plan = await planApply(client, documents);
  if (plan.parts.length > 1)
    note(`${String(documents.length)} resources do not fit one request: ${String(plan.parts.length)} transactions, in order`);
  const all: Applied[] = [];
  try {
    for await (const part of sendPlan(client, plan, { dryRun })) {
      all.push(...part);
      if (!isForPrograms(output)) for (const one of part) await show(client, one, dryRun);
      if (plan.parts.length > 1 && plan.isTransactional) note(`${String(all.length)} of ${String(documents.length)} done`);
    }
  } catch (error) {
    throw all.length === 0 || dryRun ? error : partly(error, all.length, documents.length);
  }
  for (const { document, text } of unansweredWarnings(warnings, all)) note(`warning: ${describeDocument(document)}: ${text}`);
  if (!isForPrograms(output) && all.length > 1) print(summary(all, plan, dryRun));
  const failed = all.filter(({ result }) => result === 'failed').length;
  const pruned: Pruned[] = [];
  if (prunes && failed === 0)
    for await (const one of prune(client, documents, { selection, dryRun })) {
      pruned.push(one);
      if (!isForPrograms(output)) print(prunedText(one, dryRun));
    }
  const refused = pruned.filter(({ failure }) => failure !== null);
  const rollouts = await rolloutsOf(client, [...writtenOf(all), ...pruned.filter(({ failure }) => failure === null)], waitMs);
  if (isForPrograms(output)) print(serialize(answerFor(all, pruned, rollouts), output));
  else if (rollouts !== null) print(rolloutsText(rollouts));
  process.exitCode = exitCodeOfRollouts(rollouts ?? []);
  if (failed > 0) throw new MeridianError('invalid', `${String(failed)} of ${String(all.length)} resources could not be applied`);
  if (refused.length > 0)
    throw new MeridianError('invalid', `${String(refused.length)} of ${String(pruned.length)} resources could not be pruned`);
}

function prunedText(one: Pruned, dryRun: boolean): string {
  const { failure } = one;
  const result = failure === null ? (dryRun ? 'would be pruned' : 'pruned') : `cannot be pruned: ${failure}`;
  return `${describeDocument(one)} ${result}`;
}

/** The stored resources; a failed one has no rollout. */
function writtenOf(all: readonly Applied[]): Written[] {
  return all.flatMap(({ document, result }) =>
    result === 'failed' ? [] : [{ info: document.info, mesh: document.mesh, name: storedNameOf(document) }],
  );
}

/** The answer for programs. */
function answerFor(
  all: readonly Applied[],
  pruned: readonly Pruned[],
  rollouts: readonly Answer<'Rollout'>[] | null,
): readonly object[] {
  const queue = [...(rollouts ?? [])];
  const withRollout = (shown: object, isStored: boolean): object => {
    const rollout = isStored ? queue.shift() : undefined;
    return { ...shown, ...(rollout !== undefined && { rollout }) };
  };
  return [
    ...all.map((one) => withRollout(forPrograms(one), one.result !== 'failed')),
    ...pruned.map(({ info, mesh, name, failure }) => {
      const shown = { type: info.name, ...(mesh !== '' && { mesh }), name };
      return failure === null
        ? withRollout({ ...shown, result: 'pruned' }, true)
        : { ...shown, result: 'failed', messages: [failure] };
    }),
  ];
}

async function show(client: ApiClient, applied: Applied, dryRun: boolean): Promise<void> {
  const { document, result, messages } = applied;
  const would = dryRun && result !== 'unchanged' ? `would be ${result}` : result;
  print(`${describeDocument(document)} ${would}`);
  for (const message of messages) print(`  ${message}`);
  if (!dryRun && GATEWAY_ROUTES.has(document.info.name) && result !== 'failed') await showConditions(client, applied);
  if (dryRun) for (const line of await differenceOf(client, applied)) printPainted(`  ${line}`);
}

const GATEWAY_ROUTES: ReadonlySet<string> = new Set(['HTTPRoute', 'TCPRoute']);
/** The leader checks a route within milliseconds. The conditions of a changed route may stay as they are. */
const NEW_MS = 2_000;
const CHANGED_MS = 500;

/** Prints what is wrong with a route, once the leader has checked it. */
async function showConditions(client: ApiClient, { document, result }: Applied): Promise<void> {
  const isNew = result === 'created';
  const { info, mesh } = document;
  const key = { info, mesh, name: storedNameOf(document) };
  const found = await checkedRoute(client, key, { isNew, limitMs: isNew ? NEW_MS : CHANGED_MS });
  if (found === null) print('  not checked yet: `meridian inspect routes` shows the conditions');
  else for (const problem of problemsOf(found)) print(`  warning: ${problem}`);
}

function forPrograms({ document, result, messages, diff }: Applied): object {
  const { info, mesh, name } = document;
  // Never print the value of a secret.
  const shown = info.adminOnly ? diff?.map(({ op, path }) => ({ op, path })) : diff;
  return { type: info.name, ...(mesh !== '' && { mesh }), name, result, messages, ...(shown !== undefined && { diff: shown }) };
}

function summary(all: readonly Applied[], { isOneTransaction, isTransactional, parts }: ApplyPlan, dryRun: boolean): string {
  const counts = new Map<string, number>();
  for (const { result } of all) counts.set(result, (counts.get(result) ?? 0) + 1);
  const listed = [...counts].map(([result, count]) => `${String(count)} ${result}`).join(', ');
  const how = dryRun
    ? 'nothing was changed'
    : isOneTransaction
      ? 'in one transaction'
      : isTransactional
        ? `in ${String(parts.length)} transactions`
        : 'one by one: this control plane has no transactions';
  return `${String(all.length)} resources: ${listed}; ${how}`;
}

function partly(error: unknown, done: number, total: number): unknown {
  if (!(error instanceof MeridianError)) return error;
  const said = `${String(done)} of ${String(total)} resources are stored by earlier requests; correct the rest and apply all again`;
  return new MeridianError(error.code, `${error.message}\n${said}`, { cause: error });
}

// The command line as a table: one line for each command, in the order of --help.
import { Command } from 'commander';
import { productName, productVersion } from '../base/version.ts';
import { addApplyCommand } from './commands/apply.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addConfigCommand } from './commands/config-control-planes.ts';
import { addDataplaneInstallEnvoy } from './commands/dataplane-install-envoy.ts';
import { addDataplaneRun } from './commands/dataplane-run.ts';
import { addDeleteCommand } from './commands/delete.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addDescribeCommand } from './commands/describe.ts';
import { addDiffCommand } from './commands/diff.ts';
import { addEditCommand } from './commands/edit.ts';
import { addEventsCommand } from './commands/events.ts';
import { addExplainCommand } from './commands/explain.ts';
import { addExportCommand } from './commands/export.ts';
import { addGlobalRun } from './commands/global-run.ts';
import { addGenerateKeys } from './commands/generate-keys.ts';
import { addGenerateTlsCertificate } from './commands/generate-tls-certificate.ts';
import { addGenerateTokens } from './commands/generate-tokens.ts';
import { addGetCommand } from './commands/get.ts';
import { addHistoryCommand } from './commands/history.ts';
import { addPreviewCommand } from './commands/preview.ts';
import { addRollbackCommand } from './commands/rollback.ts';
import { addHelpCommand } from './commands/help.ts';
import { addIdentityRotate, addInspectIdentity } from './commands/identity-rotate.ts';
import { addInspectDataplane } from './commands/inspect-dataplane.ts';
import { addInspectDataplanes } from './commands/inspect-dataplanes.ts';
import { addInspectMeshes } from './commands/inspect-meshes.ts';
import { addInspectPolicy } from './commands/inspect-policy.ts';
import { addInspectRoutes } from './commands/inspect-routes.ts';
import { addInspectProblems } from './commands/inspect-problems.ts';
import { addInspectService } from './commands/inspect-service.ts';
import { addInspectZones } from './commands/inspect-zones.ts';
import { addMigrate } from './commands/migrate.ts';
import { addRolloutList, addRolloutStatus } from './commands/rollout-status.ts';
import { addTakeoverCheck } from './commands/takeover-check.ts';
import { addTakeoverReturn } from './commands/takeover-return.ts';
import { addTokenRevoke } from './commands/token-revoke.ts';
import { addVersionCommand } from './commands/version.ts';
import { EXIT_HELP } from './exit-codes.ts';
import { addExplainSync } from './commands/explain-sync.ts';
import { addZoneAcceptGlobal, addZoneAdopt } from './commands/zone-accept.ts';
import { addZoneRun } from './commands/zone-run.ts';

/** Below the help of the groups: calls that often come first. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  inspect: [
    'meridian inspect zones',
    'meridian inspect problems',
    'meridian inspect service cart --mesh shop',
    'meridian inspect dataplane web-1 --mesh shop',
  ],
  rollout: ['meridian rollout list', 'meridian rollout status meshtimeout slow --mesh shop --wait'],
  global: ['meridian global run'],
  zone: [
    'meridian zone run --name east --global-address grpcs://global.example:5685',
    'meridian zone adopt east',
    'meridian zone accept-global --address http://zone-east.example:5681',
  ],
  identity: ['meridian identity rotate identity --mesh shop --context east'],
  dataplane: ['meridian dataplane install-envoy', 'meridian dataplane run -d cart.yaml --dataplane-token-file cart.token'],
  migrate: ['meridian migrate status --config global.yaml', 'meridian migrate up --config global.yaml'],
  takeover: ['meridian takeover check -f export.yaml', 'meridian takeover return --config global.yaml'],
  generate: [
    'meridian generate zone-token --zone east --valid-for 8760h --out east.token',
    'meridian generate signing-key --format pem --out key.pem',
    'meridian generate tls-certificate --type server --hostname global.example',
  ],
  token: ['meridian token revoke east.token'],
};

const HELP = `
First steps:
  meridian demo                 a global and two zones on this machine
  meridian get meshes           list the meshes of a control plane
  meridian apply -f FILE        create or change resources
  meridian inspect zones        show the state of the zones

Every command has --help with examples.

${EXIT_HELP}`;

/** The whole command tree; nothing is parsed yet. It throws CommanderError instead of ending the process. */
export function createProgram(): Command {
  const program = new Command('meridian')
    .description('A multizone control plane: one global and many zones, kept in step within milliseconds.')
    .version(`${productName} ${productVersion}`, '-V, --version', 'the version of this command')
    .showHelpAfterError('(--help lists commands and options)')
    .exitOverride()
    .addHelpText('after', HELP);
  program.commandsGroup('Resources:');
  addGetCommand(program);
  addDescribeCommand(program);
  addApplyCommand(program);
  addDiffCommand(program);
  addPreviewCommand(program);
  addEditCommand(program);
  addDeleteCommand(program);
  addExportCommand(program);
  addHistoryCommand(program);
  addRollbackCommand(program);
  addExplainCommand(program);
  program.commandsGroup('State:');
  const inspect = group(program, 'inspect', 'the state of zones, meshes, proxies, policies and routes');
  addInspectZones(inspect);
  addInspectMeshes(inspect);
  addInspectDataplanes(inspect);
  addInspectDataplane(inspect);
  addInspectPolicy(inspect);
  addInspectRoutes(inspect);
  addInspectService(inspect);
  addInspectIdentity(inspect);
  addInspectProblems(inspect);
  addExplainSync(program);
  addEventsCommand(program);
  const rollout = group(program, 'rollout', 'which zones have a change, since when, and why others have not');
  addRolloutStatus(rollout);
  addRolloutList(rollout);
  program.commandsGroup('Control planes:');
  addDemoCommand(program);
  addGlobalRun(group(program, 'global', 'the global control plane'));
  const zone = group(program, 'zone', 'a zone control plane');
  addZoneRun(zone);
  addZoneAdopt(zone);
  addZoneAcceptGlobal(zone);
  addIdentityRotate(group(program, 'identity', 'the workload identity of a mesh in a zone'));
  const dataplane = group(program, 'dataplane', 'an Envoy proxy on this machine');
  addDataplaneRun(dataplane);
  addDataplaneInstallEnvoy(dataplane);
  addMigrate(group(program, 'migrate', 'the schema of the store'));
  const takeover = group(program, 'takeover', 'from a Kuma global to this one, and back');
  addTakeoverCheck(takeover);
  addTakeoverReturn(takeover);
  program.commandsGroup('Access and set-up:');
  addHelpCommand(program);
  const generate = group(program, 'generate', 'tokens, the keys that sign them, and certificates');
  addGenerateTokens(generate);
  addGenerateKeys(generate);
  addGenerateTlsCertificate(generate);
  addTokenRevoke(group(program, 'token', 'tokens after they were issued'));
  addConfigCommand(program);
  addCompletionCommand(program);
  addVersionCommand(program);
  return program;
}

/** A command that only has commands of its own. */
function group(program: Command, name: string, about: string): Command {
  const lines = (EXAMPLES[name] ?? []).map((example) => `  ${example}`);
  return program
    .command(name)
    .description(about)
    .addHelpText('after', ['', 'Examples:', ...lines].join('\n'));
}

// The command line as a table: one line for each command, in the order of --help.
// Invariant: a call loads the modules of the command that its words name, and no others.
import { Command } from 'commander';
import { productName, productVersion } from '../base/version.ts';
import { EXIT_HELP } from './exit-codes.ts';

/** Adds a command to the program, or to its group. */
type Add = (parent: Command) => void;
/** The words that call a command, or the one that calls all commands of a module, and what loads the module. */
type Entry = readonly [words: string, load: () => Promise<Add>];

/** The commands that --help lists below each title. */
const SECTIONS: Readonly<Record<string, readonly Entry[]>> = {
  'Resources:': [
    ['get', async () => (await import('./commands/get.ts')).addGetCommand],
    ['describe', async () => (await import('./commands/describe.ts')).addDescribeCommand],
    ['apply', async () => (await import('./commands/apply.ts')).addApplyCommand],
    ['diff', async () => (await import('./commands/diff.ts')).addDiffCommand],
    ['preview', async () => (await import('./commands/preview.ts')).addPreviewCommand],
    ['edit', async () => (await import('./commands/edit.ts')).addEditCommand],
    ['delete', async () => (await import('./commands/delete.ts')).addDeleteCommand],
    ['export', async () => (await import('./commands/export.ts')).addExportCommand],
    ['history', async () => (await import('./commands/history.ts')).addHistoryCommand],
    ['rollback', async () => (await import('./commands/rollback.ts')).addRollbackCommand],
    ['explain', async () => (await import('./commands/explain.ts')).addExplainCommand],
  ],
  'State:': [
    ['inspect zones', async () => (await import('./commands/inspect-zones.ts')).addInspectZones],
    ['inspect meshes', async () => (await import('./commands/inspect-meshes.ts')).addInspectMeshes],
    ['inspect dataplanes', async () => (await import('./commands/inspect-dataplanes.ts')).addInspectDataplanes],
    ['inspect dataplane', async () => (await import('./commands/inspect-dataplane.ts')).addInspectDataplane],
    ['inspect policy', async () => (await import('./commands/inspect-policy.ts')).addInspectPolicy],
    ['inspect routes', async () => (await import('./commands/inspect-routes.ts')).addInspectRoutes],
    ['inspect name', async () => (await import('./commands/inspect-name.ts')).addInspectName],
    ['inspect service', async () => (await import('./commands/inspect-service.ts')).addInspectService],
    ['inspect identity', async () => (await import('./commands/identity-rotate.ts')).addInspectIdentity],
    [
      'inspect transparent-proxy',
      async () => (await import('./commands/inspect-transparent-proxy.ts')).addInspectTransparentProxy,
    ],
    ['inspect problems', async () => (await import('./commands/inspect-problems.ts')).addInspectProblems],
    ['explain-sync', async () => (await import('./commands/explain-sync.ts')).addExplainSync],
    ['events', async () => (await import('./commands/events.ts')).addEventsCommand],
    ['rollout status', async () => (await import('./commands/rollout-status.ts')).addRolloutStatus],
    ['rollout list', async () => (await import('./commands/rollout-status.ts')).addRolloutList],
  ],
  'Control planes:': [
    ['demo', async () => (await import('./commands/demo.ts')).addDemoCommand],
    ['global run', async () => (await import('./commands/global-run.ts')).addGlobalRun],
    ['zone run', async () => (await import('./commands/zone-run.ts')).addZoneRun],
    ['zone adopt', async () => (await import('./commands/zone-accept.ts')).addZoneAdopt],
    ['zone accept-global', async () => (await import('./commands/zone-accept.ts')).addZoneAcceptGlobal],
    ['identity rotate', async () => (await import('./commands/identity-rotate.ts')).addIdentityRotate],
    ['dataplane run', async () => (await import('./commands/dataplane-run.ts')).addDataplaneRun],
    ['dataplane install-envoy', async () => (await import('./commands/dataplane-install-envoy.ts')).addDataplaneInstallEnvoy],
    [
      'install transparent-proxy',
      async () => (await import('./commands/install-transparent-proxy.ts')).addInstallTransparentProxy,
    ],
    [
      'uninstall transparent-proxy',
      async () => (await import('./commands/install-transparent-proxy.ts')).addUninstallTransparentProxy,
    ],
    ['migrate', async () => (await import('./commands/migrate.ts')).addMigrate],
    ['import kuma-kubernetes', async () => (await import('./commands/import-kuma-kubernetes.ts')).addImportKumaKubernetes],
    ['takeover check', async () => (await import('./commands/takeover-check.ts')).addTakeoverCheck],
    ['takeover return', async () => (await import('./commands/takeover-return.ts')).addTakeoverReturn],
  ],
  'Access and set-up:': [
    ['help', async () => (await import('./commands/help.ts')).addHelpCommand],
    ['generate', async () => (await import('./commands/generate-tokens.ts')).addGenerateTokens],
    ['generate', async () => (await import('./commands/generate-keys.ts')).addGenerateKeys],
    ['generate', async () => (await import('./commands/generate-tls-certificate.ts')).addGenerateTlsCertificate],
    ['token revoke', async () => (await import('./commands/token-revoke.ts')).addTokenRevoke],
    ['config', async () => (await import('./commands/config-control-planes.ts')).addConfigCommand],
    ['completion', async () => (await import('./commands/completion.ts')).addCompletionCommand],
    ['version', async () => (await import('./commands/version.ts')).addVersionCommand],
  ],
};

/** The commands that only have commands of their own, and what these are about. */
const GROUPS: Readonly<Record<string, string>> = {
  inspect: 'the state of zones, meshes, proxies, policies and routes',
  rollout: 'which zones have a change, since when, and why others have not',
  global: 'the global control plane',
  zone: 'a zone control plane',
  identity: 'the workload identity of a mesh in a zone',
  dataplane: 'an Envoy proxy on this machine',
  install: 'what a proxy needs on this machine',
  uninstall: 'what was installed on this machine',
  migrate: 'the schema of the store',
  import: 'the resources of another global into a new store',
  takeover: 'from a Kuma global to this one, and back',
  generate: 'tokens, the keys that sign them, and certificates',
  token: 'tokens after they were issued',
};

/** The calls that often come first. The help of the groups ends with them. */
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
  install: ['meridian install transparent-proxy --user meridian --redirect-dns'],
  uninstall: ['meridian uninstall transparent-proxy'],
  migrate: ['meridian migrate status --config global.yaml', 'meridian migrate up --config global.yaml'],
  import: ['meridian import kuma-kubernetes -f crds.yaml -f system.yaml --check'],
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

/**
 * The program; nothing is parsed yet. It throws CommanderError instead of ending the process.
 * @param words the arguments after `meridian`. The program has the commands that they may call: all of them for words that call none, such
 *   as `help`
 */
export async function createProgram(words: readonly string[] = []): Promise<Command> {
  const program = new Command('meridian')
    .description('A multizone control plane: one global and many zones, kept in step within milliseconds.')
    .version(`${productName} ${productVersion}`, '-V, --version', 'the version of this command')
    .showHelpAfterError('(--help lists commands and options)')
    .exitOverride()
    .addHelpText('after', HELP);
  const groups = new Map<string, Command>();
  const parentOf = (entry: string): Command => {
    const [name = ''] = entry.split(' ');
    const about = GROUPS[name];
    if (about === undefined) return program;
    const parent = groups.get(name) ?? group(program, name, about);
    groups.set(name, parent);
    return parent;
  };
  const isCalled = calledBy(words);
  for (const [title, entries] of Object.entries(SECTIONS)) {
    program.commandsGroup(title);
    const called = entries.filter(isCalled);
    const adds = await Promise.all(called.map(([, load]) => load()));
    for (const [index, add] of adds.entries()) add(parentOf(called[index]?.[0] ?? ''));
  }
  return program;
}

/** Whether the words may call an entry: that of their command, else those of their group, else all. */
function calledBy(words: readonly string[]): (entry: Entry) => boolean {
  const [first, second] = words;
  if (first === '--version' || first === '-V') return () => false;
  // `help` prints the help of any other command.
  if (first === undefined || first === 'help') return () => true;
  const entries = Object.values(SECTIONS).flat();
  for (const isCalled of [
    ([name]: Entry) => name === first || name === `${first} ${second ?? ''}`,
    ([name]: Entry) => name.startsWith(`${first} `),
  ])
    if (entries.some(isCalled)) return isCalled;
  return () => true;
}

/** A command that only has commands of its own. */
function group(program: Command, name: string, about: string): Command {
  const lines = (EXAMPLES[name] ?? []).map((example) => `  ${example}`);
  return program
    .command(name)
    .description(about)
    .addHelpText('after', ['', 'Examples:', ...lines].join('\n'));
}

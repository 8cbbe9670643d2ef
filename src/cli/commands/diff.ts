// `meridian diff`: the changes that `apply` would make.
import type { Command } from 'commander';
import { planApply, sendPlan } from '../documents/apply-requests.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { readDocuments } from '../documents/read-files.ts';
import { EXIT } from '../exit-codes.ts';
import { addFileOption, addMeshOption, type MeshOptions } from '../options.ts';
import { note, print, printPainted } from '../output.ts';
import { describeDocument } from '../views/problem-text.ts';
import { differenceOf } from '../documents/show-difference.ts';

const HELP = `
Lines that begin with + would be added, lines with - removed. The exit code is
0 when nothing would change and 5 when something would.

Examples:
  meridian diff -f examples/shop/global
  meridian export | meridian diff -f - --context other`;

export function addDiffCommand(program: Command): void {
  addConnectOptions(
    addMeshOption(
      addFileOption(program.command('diff').description('show the changes that apply would make'), { required: true }),
    ),
  )
    .addHelpText('after', HELP)
    .action(async (options: ConnectOptions & MeshOptions & { file: readonly string[] }) => {
      const { file, mesh, ...connection } = options;
      const documents = await readDocuments(file, mesh);
      const { checkDocuments } = await import('../documents/check-documents.ts');
      checkDocuments(documents);
      const client = await connect(connection);
      let differing = 0;
      for await (const part of sendPlan(client, await planApply(client, documents), { dryRun: true })) {
        for (const one of part) {
          if (one.result === 'unchanged') continue;
          differing += 1;
          print(`${describeDocument(one.document)} would be ${one.result}`);
          for (const line of await differenceOf(client, one)) printPainted(`  ${line}`);
        }
      }
      note(`${String(differing)} of ${String(documents.length)} resources differ`);
      if (differing > 0) process.exitCode = EXIT.differs;
    });
}

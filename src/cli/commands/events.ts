// `meridian events`: what changes at a control plane, as it happens.
import type { Command } from 'commander';
import { isForPrograms, print, serialize, type Format } from '../output.ts';
import { addConnectOptions, connect, type ConnectOptions } from '../client/connect.ts';
import { followEvents } from '../client/followed-events.ts';
import { addOutputOption, collect, type OutputOptions } from '../options.ts';
import { eventLines } from '../views/event-text.ts';

const HELP = `
Topics: zones (state and connection), lag (zones that are behind), changes (how
many zones have each), problems (new and solved), leader (replicas). A line has
the newest state: changes within a quarter of a second are one line. After a
lost connection it goes on where it was; \`resync\`: events may be missing.

Examples:
  meridian events
  meridian events --topic zones --topic problems
  meridian events -o json | jq -c 'select(.event == "problems")'`;

type Options = ConnectOptions & OutputOptions & { topic: string[] };

export function addEventsCommand(program: Command): void {
  const command = program
    .command('events')
    .description('follow what changes: zones, lag, changes, problems and the leader')
    .option('--topic <topic>', 'only this topic; may be given again', collect, []);
  addConnectOptions(addOutputOption(command, ['table', 'json', 'yaml']))
    .addHelpText('after', HELP)
    .action(follow);
}

async function follow({ output, topic, ...connection }: Options): Promise<void> {
  const client = await connect(connection);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  for await (const { event, data } of followEvents(client, topic, stop.signal)) {
    const items = (data as { items?: readonly object[] }).items ?? [data as object];
    for (const item of items) show(event, item, output);
  }
}

function show(event: string, item: object, output: Format): void {
  if (!isForPrograms(output)) print(eventLines(event, item, new Date()));
  else if (output === 'json') print(JSON.stringify({ event, ...item }));
  else print(`---\n${serialize({ event, ...item }, output)}`);
}

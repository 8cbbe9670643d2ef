// `meridian explain`: the fields of a type, from the schemas of this program. It calls no control plane.
import { Option, type Command } from 'commander';
import { UsageError } from '../exit-codes.ts';
import { explainText, fieldSchema } from '../views/explain-text.ts';
import { requireType } from '../client/find.ts';
import { print, serialize } from '../output.ts';

type Options = { readonly recursive?: boolean; readonly output: 'text' | 'json' | 'yaml' };

const HELP = `
A path skips lists: to.default is the field default of each item of to.
With -o json or yaml the answer is a JSON Schema.

Examples:
  meridian explain meshtimeout
  meridian explain mt.to.default.http.requestTimeout
  meridian explain meshtrace.default -r
  meridian explain dataplane.networking.inbound -o yaml`;

export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description('the fields of a type: their meaning, allowed values and defaults')
    .argument('<type[.field]>', 'type, plural or short name, with the path of a field: mt.to.default.http')
    .option('-r, --recursive', 'include nested fields')
    .addOption(new Option('-o, --output <format>', 'form of the answer').choices(['text', 'json', 'yaml']).default('text'))
    .addHelpText('after', HELP)
    .action(explain);
}

async function explain(asked: string, { recursive = false, output }: Options): Promise<void> {
  const [typeName = '', ...path] = asked.split('.').map((step) => step.replace(/\[\d*\]$/, ''));
  const info = requireType(typeName);
  // Load the schemas late: they take more time than the rest of a short command.
  const { specJsonSchema } = await import('../../validation/spec-json-schema.ts');
  const schema = specJsonSchema(info.name);
  if (schema === null) throw new UsageError(`${info.name} is a type of the Gateway API: its documentation describes the fields`);
  const found = fieldSchema(info, schema, path);
  print(output === 'text' ? explainText(info, path, found, { recursive }) : serialize(found, output));
}

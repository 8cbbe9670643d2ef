// Options of several commands, with the same spelling everywhere.
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Format } from './output.ts';

export type OutputOptions = { readonly output: Format };
export type MeshOptions = { readonly mesh: string };
export type NamespaceOptions = { readonly namespace?: string | undefined };

/** The place of a resource, and the form of the answer about it. */
export type LookupOptions = MeshOptions & NamespaceOptions & OutputOptions;

export function addMeshOption(command: Command): Command {
  return command.addOption(new Option('-m, --mesh <mesh>', 'mesh of the resources').default('default').env('MERIDIAN_MESH'));
}

export function addNamespaceOption(command: Command): Command {
  return command.option('-n, --namespace <namespace>', 'only those of this Kubernetes namespace');
}

export function addOutputOption(
  command: Command,
  formats: readonly (Format | 'name')[] = ['table', 'wide', 'json', 'yaml'],
): Command {
  const option = new Option('-o, --output <format>', 'form of the answer').choices(formats).default('table');
  return command.addOption(option.argParser((value: string) => formatOf(value, formats)));
}

export function addLookupOptions(command: Command): Command {
  return addOutputOption(addNamespaceOption(addMeshOption(command)));
}

/** The templates of kubectl are no forms: jq reads the answer in JSON. */
function formatOf(value: string, formats: readonly string[]): string {
  if (formats.includes(value)) return value;
  const instead = /^(jsonpath|go-template|custom-columns)/.test(value) ? ' Select fields with jq: -o json | jq' : '';
  throw new InvalidArgumentError(`Allowed choices are ${formats.join(', ')}.${instead}`);
}

export function addFileOption(command: Command, { required }: { required: boolean }): Command {
  const option = new Option('-f, --file <source>', 'file, folder, URL, or - for standard input; may be given again');
  return command.addOption(option.argParser(collect).makeOptionMandatory(required));
}

/** The parser of repeatable options. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** The parser of options that name a version of a resource. */
export function versionOf(value: string): string {
  if (!/^\d{1,9}$/.test(value))
    throw new InvalidArgumentError('It must be the number of a version; `meridian history` lists them.');
  return value;
}

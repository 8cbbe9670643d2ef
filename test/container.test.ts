// The files that make and start containers: what they promise about safety stands in them, read as data.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Instructions of the Dockerfile, by stage; the first list stands before the first FROM. */
const stages = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line !== '')
  .reduce<string[][]>(
    (found, line) => (line.startsWith('FROM ') ? [...found, [line]] : [...found.slice(0, -1), [...(found.at(-1) ?? []), line]]),
    [[]],
  );
const final = stages.at(-1) ?? [];
const defaults = new Map((stages[0] ?? []).map((line) => /^ARG (\w+)=(.+)$/.exec(line)?.slice(1) as [string, string]));

type Service = {
  readonly build?: { readonly args: Record<string, string> };
  readonly ports?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly environment: Record<string, string>;
  readonly command: readonly string[];
};
const { services } = parse(read('compose.yaml'), { merge: true }) as { services: Record<string, Service> };
const ours = Object.entries(services).filter(([, service]) => service.build !== undefined);

describe('the image', () => {
  it('takes each base image from an argument, which may be a digest', () => {
    expect([...defaults.keys()]).toEqual(['BUILD_IMAGE', 'RUN_IMAGE']);
    expect(stages.slice(1).map(([from]) => from)).toEqual(['FROM ${BUILD_IMAGE} AS build', 'FROM ${RUN_IMAGE}']);
  });

  it('has only the Node of the packages', () => {
    expect(defaults.get('RUN_IMAGE')).not.toContain('node');
    expect(final.filter((line) => line.startsWith('COPY --from'))).toEqual([
      'COPY --from=build /meridian/node_modules node_modules',
    ]);
    expect(final.find((line) => line.startsWith('HEALTHCHECK'))).toContain('CMD ["node_modules/node/bin/node", ');
  });

  it('runs as a user other than root, and no later step changes files', () => {
    const user = final.findIndex((line) => line.startsWith('USER '));
    expect(final[user]).toMatch(/^USER [1-9]\d*:[1-9]\d*$/);
    expect(final.slice(user).filter((line) => /^(RUN|COPY|ADD|USER)\b/.test(line))).toHaveLength(1);
  });

  it('copies only the named files of this folder', () => {
    const [first, ...rest] = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(first).toBe('*');
    const named = rest.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    const copied = stages.flat().flatMap((line) => (/^COPY (?!--from)(.*) \S+$/.exec(line)?.[1] ?? '').split(' '));
    expect(named.sort()).toEqual([...new Set(copied.filter((name) => name !== ''))].sort());
    expect(rest).toEqual(expect.arrayContaining(['**/*.key', '**/*.token']));
  });
});

describe('compose.yaml', () => {
  it('publishes ports on 127.0.0.1 only', () => {
    const ports = Object.values(services).flatMap(({ ports = [] }) => ports);
    expect(ports).toHaveLength(3);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  it('runs each control plane without superuser rights, on the same images', () => {
    expect(ours).toHaveLength(7);
    for (const [, { build, cap_drop: dropped, security_opt: options }] of ours) {
      expect(dropped).toEqual(['ALL']);
      expect(options).toEqual(['no-new-privileges:true']);
      for (const [name, image] of defaults) expect(build?.args[name]).toBe(`\${${name}:-${image}}`);
    }
  });

  it('has each replica of global in the configuration of the load balancer, where zones connect', () => {
    const config = read('examples/replicas/envoy.yaml');
    const behind = [...config.matchAll(/address: (global\S*), port_value: 5685/g)].map(([, name]) => name);
    const replicas = ours.filter(([, { command }]) => command[0] === 'global').map(([name]) => name);
    expect(behind).toEqual(replicas);
    for (const [, { command }] of ours) if (command[0] === 'zone') expect(command.at(-1)).toBe('grpc://balancer:5685');
  });
});

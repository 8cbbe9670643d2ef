// `meridian inspect`: the table of its subcommands; each has a file of its own.
import type { Command } from 'commander';
import { addInspectDataplane } from './inspect-dataplane.ts';
import { addInspectDataplanes } from './inspect-dataplanes.ts';
import { addInspectMeshes } from './inspect-meshes.ts';
import { addInspectPolicy } from './inspect-policy.ts';
import { addInspectRoutes } from './inspect-routes.ts';
import { addInspectService } from './inspect-service.ts';
import { addInspectZones } from './inspect-zones.ts';

export function addInspectCommand(program: Command): void {
  const inspect = program.command('inspect').description('how the parts of the system are doing, and why');
  addInspectZones(inspect);
  addInspectMeshes(inspect);
  addInspectDataplanes(inspect);
  addInspectDataplane(inspect);
  addInspectPolicy(inspect);
  addInspectRoutes(inspect);
  addInspectService(inspect);
}

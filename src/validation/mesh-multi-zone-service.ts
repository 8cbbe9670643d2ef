// MeshMultiZoneService (policies 2.9): one name for the MeshServices of several zones.
import { z } from 'zod';
import { narrowingSelector } from '../schema/label-selector.ts';
import { appProtocol, calledPort } from './mesh-service.ts';
import { sectionName } from '../schema/spec-fields.ts';

export const meshMultiZoneServiceSpec = z.object({
  selector: z
    .object({ meshService: narrowingSelector.describe('Selects MeshServices, in all zones of the mesh.') })
    .describe('The services that stand behind the name.'),
  ports: z
    .array(
      z.object({
        port: calledPort(),
        name: sectionName().describe('The section name; the port as text if not set.').optional(),
        appProtocol: appProtocol(),
      }),
    )
    .min(1)
    .describe('Ports that clients call.'),
});

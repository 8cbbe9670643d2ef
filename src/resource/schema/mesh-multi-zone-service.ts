// MeshMultiZoneService (policies 2.9): one name for the MeshServices of several zones.
import { z } from 'zod';
import { narrowingSelector } from './label-selector.ts';
import { appProtocol } from './mesh-service.ts';
import { port, sectionName } from './spec-fields.ts';

export const meshMultiZoneServiceSpec = z.object({
  selector: z.object({ meshService: narrowingSelector }),
  ports: z
    .array(
      z.object({
        port: port(),
        name: sectionName().describe('The section name; the port as text if not set.').optional(),
        appProtocol: appProtocol(),
      }),
    )
    .min(1),
});

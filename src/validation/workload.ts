// Workload: the proxies of one workload. The zone makes it from Dataplanes; its spec is empty.
import { z } from 'zod';

export const workloadSpec = z.object({});

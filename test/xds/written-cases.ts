// Whole configurations of proxies whose policies no recorded case has. Each folder of written/ is a case: `input/*.yaml` is applied to a
// zone `east` of its own, whose proxies have the features of `features.json`. `expected/<proxy>.json` is what a proxy gets.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES, type ProxyFeatures } from '../../src/xds/proxy-features.ts';
import { indexOfFolder } from './recorded-case.ts';

const FOLDER = join(import.meta.dirname, 'written');

type WrittenProxy = { readonly name: string; readonly config: ProxyConfig; readonly expected: string };

export function writtenProxies(): WrittenProxy[] {
  return readdirSync(FOLDER).flatMap((name) => {
    const folder = join(FOLDER, name);
    const features = JSON.parse(readFileSync(join(folder, 'features.json'), 'utf8')) as Partial<ProxyFeatures>;
    const index = indexOfFolder(join(folder, 'input'));
    return [...index.proxies()].map((proxy) => ({
      name: `${name}-${proxy.displayName}`,
      config: proxyConfig(index, proxy, { ...WITHOUT_FEATURES, ...features }),
      expected: join(folder, 'expected', `${proxy.displayName}.json`),
    }));
  });
}

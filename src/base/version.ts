// What this build calls itself. `preview` stays in the version until 1.0, so that kumactl accepts it (rest-api 6).
import manifest from '../../package.json' with { type: 'json' };

export const productName = 'Meridian';
export const productVersion = manifest.version;

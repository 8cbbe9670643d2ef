// The version of this build. `preview` stays in it until 1.0, so that kumactl accepts it (rest-api 6).
import manifest from '../../package.json' with { type: 'json' };

export const productName = 'Meridian';
export const productVersion = manifest.version;

// The types that routes name explicitly.
import { typeOf } from '../resource/type-registry.ts';

export const meshType = typeOf('Mesh');
export const zoneType = typeOf('Zone');
export const dataplaneType = typeOf('Dataplane');
export const insightType = typeOf('DataplaneInsight');

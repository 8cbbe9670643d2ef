// Resources of a proxy in the form that goes on the wire.
import type { ConfigProblem } from '../xds/config-problem.ts';
import type { XdsResource, XdsType } from './session-messages.ts';

/** Resources that are made together, and what could not be made. */
export type EncodedPart = { readonly resources: readonly TypedResource[]; readonly problems: readonly ConfigProblem[] };
export type TypedResource = { readonly type: XdsType; readonly resource: XdsResource };

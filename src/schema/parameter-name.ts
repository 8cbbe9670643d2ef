// Names of query parameters that Envoy takes: for MeshHTTPRoutes and for Gateway API routes. Pure.

const MAX_BYTES = 1_024;

/** What `isParameterName` allows, for errors. */
export const PARAMETER_NAME_FORM = `text of at most ${String(MAX_BYTES)} bytes that is not empty`;

export function isParameterName(text: string): boolean {
  return text !== '' && Buffer.byteLength(text) <= MAX_BYTES;
}

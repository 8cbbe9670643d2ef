// The names of query parameters that Envoy takes. MeshHTTPRoutes and Gateway API routes use them. Pure.

const MAX_BYTES = 1_024;

/** The text that `isParameterName` allows, in words for errors. */
export const PARAMETER_NAME_FORM = `text of at most ${String(MAX_BYTES)} bytes that is not empty`;

export function isParameterName(text: string): boolean {
  return text !== '' && Buffer.byteLength(text) <= MAX_BYTES;
}

// REST requests of the tests, the same for Kuma and Meridian.
import type { JsonObject } from '../../src/resource/types.ts';
import type { ControlPlane } from '../support/control-plane.ts';

type Refusal = { readonly detail?: string; readonly invalid_parameters?: readonly { field: string; reason: string }[] };

export type Answer = { readonly status: number; readonly text: string };

/** @param body sent as JSON */
export async function request({ api }: ControlPlane, method: string, path: string, body?: JsonObject): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${String(api)}${path}`, {
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

/** The body of a refusal as `field: reason; …`. */
export function describeRefusal(text: string): string {
  const { detail, invalid_parameters: parameters = [] } = JSON.parse(text) as Refusal;
  const violations = parameters.map(({ field, reason }) => `${field}: ${reason}`);
  return violations.length === 0 ? (detail ?? text) : violations.join('; ');
}

/** The answer to a GET as JSON. @throws Error with the answer when the status is not 200 */
export async function read(plane: ControlPlane, path: string): Promise<JsonObject> {
  const { status, text } = await request(plane, 'GET', path);
  if (status !== 200) throw new Error(`GET ${path}: ${String(status)} ${text}`);
  return JSON.parse(text) as JsonObject;
}

/** @throws Error with the answer when the write is refused */
export async function write(plane: ControlPlane, path: string, body: JsonObject): Promise<void> {
  const { status, text } = await request(plane, 'PUT', path, body);
  if (status !== 200 && status !== 201) throw new Error(`PUT ${path}: ${String(status)} ${text}`);
}

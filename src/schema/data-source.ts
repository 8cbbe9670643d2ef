// The source of a certificate, a key or a secret value: `type` with the object of that type.
import { z } from 'zod';
import { absolutePath, choice, text } from './spec-fields.ts';
import { needsObjectOfType } from './spec-rules.ts';
import type { Kinds } from './target-ref.ts';

/** The object of each type. */
export const dataSourceShape = () => ({
  file: z
    .object({ path: absolutePath().describe('Where the file is: a path that begins with "/".') })
    .describe('A file on the machine of the control plane.')
    .optional(),
  secretRef: z
    .object({
      kind: choice('Secret').describe('Always Secret.'),
      name: text('the name of a Secret').describe('The Secret, by its name in the mesh.'),
    })
    .describe('A Secret of the mesh.')
    .optional(),
  envVar: z
    .object({ name: text('the name of an environment variable').describe('The variable that is read.') })
    .describe('An environment variable of the control plane.')
    .optional(),
  insecureInline: z
    .object({ value: text().describe('The value itself.') })
    .describe('The value in the resource. Everyone who may read the resource can read it, but for a private key.')
    .optional(),
});

/** A warning for a private key in the resource itself. */
export const INLINE_KEY = 'is a private key in the resource itself: keep it in a Secret';

/** A rule: the object of the given `type` is present. */
export const dataSourceOfType = needsObjectOfType({
  File: 'file',
  Secret: 'secretRef',
  EnvVar: 'envVar',
  InsecureInline: 'insecureInline',
});

/** A choice among `types`: not every data source may lie everywhere. */
export const dataSourceType = <const K extends Kinds>(...types: K) => choice(...types).describe('Where the value is kept.');

// The token that a zone sends to its global, from the file of `multizone.zone.kds.auth.tokenFile` (D31). It is read at each
// connection, so a new token needs no restart.
import { readFile } from 'node:fs/promises';
import { MeridianError } from '../base/errors.ts';
import { statedEndOfJwt } from './jwt.ts';

/**
 * The value of the metadata `authorization`, or null without a file.
 * @throws MeridianError `config` with the key and the path, never with the content of the file
 */
export async function readTokenFile(path: string): Promise<string | null> {
  const token = await readToken(path);
  return token === null ? null : `Bearer ${token}`;
}

/** The expiry of the token in the file; null without a file or an expiry. @throws MeridianError as `readTokenFile` does */
export async function readTokenEnd(path: string): Promise<Date | null> {
  const token = await readToken(path);
  return token === null ? null : statedEndOfJwt(token);
}

async function readToken(path: string): Promise<string | null> {
  if (path === '') return null;
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const why = (cause as { code?: string }).code ?? 'unknown error';
    throw new MeridianError('config', `multizone.zone.kds.auth.tokenFile: ${path} cannot be read (${why})`, { cause });
  });
  const token = text.trim();
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return token;
  throw new MeridianError(
    'config',
    `multizone.zone.kds.auth.tokenFile: ${path} holds no token; it must hold what "meridian generate zone-token" prints`,
  );
}

// The facts of an HTTP request that identify its caller. Transport types stay in this file.

export type RequestFacts = {
  readonly method: string;
  /** Path with or without a query. */
  readonly url: string;
  /** Address of the peer of the connection, without its port. */
  readonly remoteAddress: string;
  /** The connection is TLS; decides which port a `Host` without one means. */
  readonly encrypted: boolean;
  /** Names in lower case, as Node has them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
};

/** A header's only value; undefined if it is absent, null if it stands there more than once. */
export function headerOf({ headers }: Pick<RequestFacts, 'headers'>, name: string): string | null | undefined {
  const value = headers[name];
  if (value === undefined || typeof value === 'string') return value;
  return value.length === 1 ? value[0] : null;
}

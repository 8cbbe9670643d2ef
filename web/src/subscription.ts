// Which subscription an insight describes.

/** The open one, else the last: times of connection do not say which is the newest when the date was set back. */
export function described<S extends object>(subscriptions: readonly S[] = []): S | undefined {
  return subscriptions.findLast((one) => !('disconnectTime' in one)) ?? subscriptions.at(-1);
}

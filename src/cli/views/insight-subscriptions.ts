// What insights say of connections, as tables show it (rest-api 3 and 6). Pure.

export type Subscription = {
  readonly connectTime?: string;
  readonly disconnectTime?: string;
  readonly status?: {
    readonly lastUpdateTime?: string;
    readonly total?: { readonly responsesSent?: string; readonly responsesRejected?: string };
  };
  readonly version?: {
    readonly kumaCp?: { readonly version?: string };
    readonly kumaDp?: { readonly version?: string };
    readonly envoy?: { readonly version?: string };
  };
  readonly config?: string;
};

export function isOnline(subscriptions: readonly Subscription[]): boolean {
  return subscriptions.some(({ connectTime, disconnectTime }) => connectTime !== undefined && disconnectTime === undefined);
}

export function lastOf(subscriptions: readonly Subscription[]): Subscription | undefined {
  return subscriptions.at(-1);
}

/** 64-bit counts are texts in proto3 JSON. */
export function sumOf(subscriptions: readonly Subscription[], key: 'responsesSent' | 'responsesRejected'): string {
  return String(subscriptions.reduce((total, { status }) => total + Number(status?.total?.[key] ?? 0), 0));
}

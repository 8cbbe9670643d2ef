// The HTTP modules of Node, without a static import of node:http: that import would read all its exports, and one of them loads the client
// of `fetch`, 0.05 s of CPU at each start.

export const http = process.getBuiltinModule('node:http');

/** The module is loaded when it is asked for: TLS takes 0.02 s of CPU. */
export const https = (): typeof import('node:https') => process.getBuiltinModule('node:https');

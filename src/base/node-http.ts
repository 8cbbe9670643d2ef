// The HTTP of Node. An import of node:http reads all that it exports, and one export makes Node load the client behind `fetch`: 0.05 s of
// CPU at each start.

export const http = process.getBuiltinModule('node:http');

/** Loaded when it is asked for: TLS takes 0.02 s of CPU. */
export const https = (): typeof import('node:https') => process.getBuiltinModule('node:https');

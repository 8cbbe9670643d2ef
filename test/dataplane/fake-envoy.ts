// Stands for an Envoy in tests of its launcher: it answers on the admin socket of its bootstrap, and does what FAKE_ENVOY says:
//   fail       ends with exit code 1 before it answers
//   crash      ends with exit code 134 as soon as it is live, the first time
//   unready    is never live
//   stubborn   ignores SIGTERM
//   chatty     writes an access log to /dev/stdout all the time
// It appends what happens to the file of FAKE_ENVOY_LOG, a line each.
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';

type Bootstrap = {
  readonly admin: { readonly address: { readonly pipe: { readonly path: string } } };
};

const mode = process.env['FAKE_ENVOY'] ?? '';
const log = process.env['FAKE_ENVOY_LOG'] ?? '/dev/null';
const args = process.argv.slice(2);
const STATS = 'control_plane.connected_state: 1\nlistener_manager.lds.update_success: 1\nlistener_manager.workers_started: 1\n';

function say(text: string): void {
  appendFileSync(log, `${text}\n`);
}

const isFirst = !/^start /m.test(readFileSync(log, 'utf8'));
say(`start ${String(process.pid)} ${args.join(' ')}`);
const ours = Object.keys(process.env).filter((name) => name.startsWith('MERIDIAN_'));
say(`environment ${ours.join(' ')}`);
process.stderr.write('info|main|starting\nwarning|config|something is odd\n');
if (mode === 'fail') {
  process.stderr.write('critical|main|error initializing configuration\n');
  process.exit(1);
}
const config = args[args.indexOf('--config-path') + 1] ?? '';
const bootstrap = JSON.parse(readFileSync(config, 'utf8')) as Bootstrap;
say(`token ${JSON.stringify(JSON.parse(readFileSync(join(dirname(config), 'token.json'), 'utf8')))}`);
const { path } = bootstrap.admin.address.pipe;
rmSync(path, { force: true });
createServer(({ method, url = '/' }, response) => {
  if (method === 'POST') say(`POST ${url}`);
  if (url === '/ready') {
    response.writeHead(mode === 'unready' ? 503 : 200);
    response.end(mode === 'unready' ? 'INITIALIZING\n' : 'LIVE\n');
  } else if (url.startsWith('/stats')) {
    response.end(STATS);
    if (mode === 'crash' && isFirst) setImmediate(() => process.exit(134));
  } else response.end(`page ${url}\n`);
}).listen(path);
if (mode === 'chatty') setInterval(() => appendFileSync('/dev/stdout', 'GET /\n'), 20);
process.on('SIGTERM', () => {
  say('SIGTERM');
  if (mode !== 'stubborn') process.exit(0);
});

// Requests over connections that stay open: single ones, and many at once.
import { Agent, request } from 'node:http';

export class HttpClient {
  readonly #agent: Agent;
  readonly #port: number;

  constructor(port: number, connections = 64) {
    this.#port = port;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** @throws Error with the answer when the status is not 2xx */
  async put(path: string, body: string, type = 'application/json'): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body) };
      const options = { host: '127.0.0.1', port: this.#port, method: 'PUT', path, agent: this.#agent, headers };
      const call = request(options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => (text += part));
        response.on('error', reject);
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          if (status >= 200 && status < 300) resolve();
          else reject(new Error(`PUT ${path}: ${String(status)} ${text}`));
        });
      });
      call.on('error', reject);
      call.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

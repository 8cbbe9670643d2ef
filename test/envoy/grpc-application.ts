// A real gRPC server with one call, and a real client of it: statuses come as gRPC libraries send them.
import { makeClientConstructor, credentials, Server, ServerCredentials, status, type ServiceError } from '@grpc/grpc-js';

const PATH = '/test.Test/Call';
const SERVICE = {
  call: {
    path: PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: (text: string) => Buffer.from(text),
    requestDeserialize: String,
    responseSerialize: (text: string) => Buffer.from(text),
    responseDeserialize: String,
  },
} as const;
const Client = makeClientConstructor(SERVICE, 'Test');

export class GrpcApplication {
  readonly port: number;
  /** Calls that came, with retries. */
  calls = 0;
  /** The status of a call. @param count of this call, from 1 */
  answer: (count: number) => status = () => status.OK;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async listen(): Promise<GrpcApplication> {
    const server = new Server();
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    const application = new GrpcApplication(server, port);
    server.addService(SERVICE, {
      call: (_: unknown, answer: (error: Partial<ServiceError> | null, text?: string) => void) => {
        const code = application.answer((application.calls += 1));
        if (code === status.OK) answer(null, 'done');
        else answer({ code, details: 'as the test says' });
      },
    });
    return application;
  }

  close(): void {
    this.#server.forceShutdown();
  }
}

/** The status of one call through a port. */
export async function callGrpc(port: number): Promise<status> {
  const client = new Client(`127.0.0.1:${String(port)}`, credentials.createInsecure());
  try {
    return await new Promise((resolve) => {
      const call = client['call'] as unknown as (text: string, answer: (error: ServiceError | null) => void) => void;
      call.call(client, 'call', (error) => resolve(error === null ? status.OK : error.code));
    });
  } finally {
    client.close();
  }
}

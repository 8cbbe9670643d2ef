// One control plane of the demo as a child process.
import { ChildProgram } from './child-program.ts';

export class ControlPlaneProcess extends ChildProgram {
  /** URL of its REST API. */
  readonly api: string;

  constructor(options: {
    name: string;
    command: 'global' | 'zone';
    apiPort: number;
    diagnosticsPort: number;
    folder: string;
    env: Record<string, string>;
  }) {
    const { name, command, apiPort, diagnosticsPort, folder, env } = options;
    super({
      name,
      args: [command, 'run'],
      readyUrl: `http://127.0.0.1:${String(diagnosticsPort)}/ready`,
      folder,
      env: {
        MERIDIAN_GENERAL_WORK_DIR: folder,
        MERIDIAN_API_SERVER_HTTP_PORT: String(apiPort),
        MERIDIAN_API_SERVER_HTTP_INTERFACE: '127.0.0.1',
        MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(diagnosticsPort),
        ...env,
      },
    });
    this.api = `http://127.0.0.1:${String(apiPort)}`;
  }
}

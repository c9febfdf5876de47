import type { GatewayOptions } from '../main.ts';
import type { Terminal } from './command.ts';
import { exitCode } from './exitCode.ts';
import { Stopping } from './stopping.ts';

/** Starts a gateway and serves until somebody says otherwise. @returns the exit code */
export async function serveUntilStopped(options: GatewayOptions, terminal: Terminal): Promise<number> {
  // Loaded here, so that the other commands start without the data plane.
  const { StartError, startGateway } = await import('../main.ts');
  const stopping = new Stopping(terminal);
  try {
    const gateway = await startGateway(options);
    stopping.started(gateway);
    await gateway.closed;
    return exitCode.ok;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    for (const problem of error.problems) terminal.err(`${problem}\n`);
    return error.kind === 'configuration' ? exitCode.invalid : exitCode.failed;
  } finally {
    stopping.release();
  }
}

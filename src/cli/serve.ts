import { messageOf } from '../errorText.ts';
import type { GatewayOptions } from '../main.ts';
import { maxDurationMs } from '../model/index.ts';
import type { Predecessor } from '../workers/index.ts';
import type { Terminal } from './command.ts';
import { exitCode } from './exitCode.ts';
import { PidFile } from './pidFile.ts';
import { Stopping } from './stopping.ts';
import { takenPortAdvice } from './takenPort.ts';
import { version } from '../version.ts';

export interface ServeOptions extends Omit<GatewayOptions, 'inheritance'> {
  /** Says which process is the gateway. */
  readonly pidFile?: string;
}

/** Starts a gateway and serves until somebody says otherwise. @returns the exit code */
export async function serveUntilStopped(options: ServeOptions, terminal: Terminal): Promise<number> {
  // Loaded here, so that the other commands start without the data plane.
  const { StartError, startGateway } = await import('../main.ts');
  const { findPredecessor } = await import('../workers/index.ts');
  const stopping = new Stopping(terminal);
  const pidFile = options.pidFile === undefined ? undefined : new PidFile(options.pidFile);
  // A gateway without a port has nothing that holds the process, and serves on until it is told to stop.
  const held = setInterval(() => undefined, maxDurationMs);
  let predecessor: Predecessor | undefined;
  try {
    predecessor = await findPredecessor(version());
    const gateway = await startGateway({
      ...options,
      inheritance: predecessor?.inheritance,
      ...(terminal.interactive === true && {
        showLink: (url) => terminal.err(`Console (the link works once): ${url}\n`),
      }),
    });
    stopping.started(gateway);
    try {
      pidFile?.write();
    } catch (error) {
      await gateway.close();
      throw new StartError('system', [messageOf(error)], error);
    }
    if (predecessor !== undefined) await gateway.replace(predecessor);
    await gateway.closed;
    return exitCode.ok;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    for (const problem of error.problems) terminal.err(`${problem}\n`);
    // A proxy gets its ports from the controller.
    if (!('stream' in options.source)) terminal.err(takenPortAdvice(error));
    await predecessor?.failed(error.problems.join('; '));
    return error.kind === 'configuration' ? exitCode.invalid : exitCode.failed;
  } finally {
    clearInterval(held);
    pidFile?.remove();
    stopping.release();
  }
}

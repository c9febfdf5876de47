/** A gateway in front of a server over the network, for tests; all of it ends with the test. */

import type { TestContext } from 'node:test';
import type { RemoteTarget } from '../model/index.ts';
import {
  mcpBackend,
  remoteTarget,
  startHarness,
  type Harness,
  type HarnessOptions,
} from './harness.testing.ts';
import { RawClient } from './rawClient.testing.ts';
import { RemoteServer } from './remoteServer.testing.ts';
import type { TargetView } from './targets/kind/target.ts';

/** Quick restarts. */
export const quick = { firstDelayMs: 1, maxDelayMs: 4, maxFailures: 3, windowMs: 60_000, coolDownMs: 0 };

export interface Stage {
  readonly server: RemoteServer;
  readonly harness: Harness;
  /** A client with a session. */
  open(version?: string): Promise<RawClient>;
  target(): TargetView;
  /** The failures in the log. */
  warnings(): string;
}

export async function stage(
  t: TestContext,
  target: Partial<RemoteTarget> = {},
  options: HarnessOptions = {},
): Promise<Stage> {
  const server = await RemoteServer.start();
  const harness = await startHarness({
    backend: mcpBackend({ targets: [remoteTarget(server.url, target)] }),
    ...options,
    runtime: { restart: quick, ...options.runtime },
  });
  t.after(async () => {
    await harness.close();
    await server.close();
  });
  return {
    server,
    harness,
    open: async (version) => {
      const client = new RawClient(harness.url);
      await client.initialize(version);
      return client;
    },
    target: () => harness.runtime.view().sessions[0]!.targets[0]!,
    warnings: () =>
      harness.log
        .filter(({ level }) => level === 'warn' || level === 'error')
        .map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`)
        .join('\n'),
  };
}

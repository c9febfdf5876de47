import type { TestContext } from 'node:test';
import { memoryLog, type Line } from '../auth/log.testing.ts';
import type { StoreSettings } from '../model/index.ts';
import { createMetrics, type Logger, type Metrics } from '../telemetry/index.ts';
import { RedisStore } from './index.ts';

export interface TestStore {
  readonly store: RedisStore;
  readonly log: Logger;
  readonly lines: readonly Line[];
  readonly metrics: Metrics;
}

/** A store at a port of loopback, which closes with the test. It may have yet to connect. */
export function storeAt(t: TestContext, port: number, changed: Partial<StoreSettings> = {}): TestStore {
  const { log, lines } = memoryLog();
  const metrics = createMetrics({ process: false });
  const settings: StoreSettings = {
    host: '127.0.0.1',
    port,
    database: 0,
    keyPrefix: 'test:',
    connectTimeoutMs: 1_000,
    commandTimeoutMs: 1_000,
    ...changed,
  };
  const store = new RedisStore({ settings, log, metrics });
  t.after(() => store.close());
  return { store, log, lines, metrics };
}

/** The same after its first attempt to connect. */
export async function connectedStore(
  t: TestContext,
  { port }: { readonly port: number },
  changed?: Partial<StoreSettings>,
): Promise<TestStore> {
  const made = storeAt(t, port, changed);
  await made.store.tried();
  return made;
}

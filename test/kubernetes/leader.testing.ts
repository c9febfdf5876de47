import type { TestContext } from 'node:test';
import { memoryLog, type Line } from '../../src/auth/log.testing.ts';
import { defaults } from '../../src/model/index.ts';
import { Controller, type ControllerOptions } from '../../src/controller/controller.ts';
import type { Installation } from '../../src/controller/provision/request.ts';
import { quickPace, type Connection } from './cluster.testing.ts';
import { until } from '../../src/until.testing.ts';

/** What proxies are made with; nobody runs them here. */
export const installation: Installation = {
  controllerName: 'portcullis.dev/gateway',
  image: 'portcullis:test',
  controller: 'portcullis-controller.portcullis-system.svc:15010',
  trust: '(certificates)',
};

/** A controller in this process that leads, until the test ends. */
export async function startLeader(
  t: TestContext,
  { api, metrics }: Connection,
  options: Partial<ControllerOptions> = {},
): Promise<{ readonly controller: Controller; readonly lines: readonly Line[] }> {
  const { log, lines } = memoryLog();
  const controller = new Controller({
    api,
    namespace: 'default',
    identity: t.name,
    process: defaults,
    log,
    metrics,
    watchPace: quickPace,
    ...options,
  });
  t.after(async () => await controller.close());
  await controller.ready;
  await until('it leads', () => controller.isLeader);
  return { controller, lines };
}

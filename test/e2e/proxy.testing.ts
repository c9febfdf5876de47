import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import type { BackendAddress, HttpBackend, HttpListener, Model } from '../../src/model/index.ts';
import { endpointsOf } from '../../src/stream/model.testing.ts';
import { Folder, startController, type Controller } from '../../src/stream/stage.testing.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';

/** An app that answers with its name. */
export async function app(t: TestContext, name: string): Promise<BackendAddress> {
  const { port, close } = await listenOnLoopback(createServer((_request, response) => response.end(name)));
  t.after(close);
  return { host: '127.0.0.1', port };
}

export const on = (port: number, model: Model): Model => ({
  ...model,
  binds: model.binds.map((bind) => ({ ...bind, port })),
});

export const say = (controller: Controller, model: Model, addresses: readonly BackendAddress[]): void => {
  const keys = model.binds
    .flatMap(({ listeners }) => listeners as readonly HttpListener[])
    .flatMap(({ routes }) => routes)
    .flatMap(({ backends }) =>
      (backends as readonly HttpBackend[]).flatMap(({ endpoints = [] }) => endpoints),
    );
  controller.server.publish(
    new Map([['ns/gw', { model, endpoints: new Set(keys) }]]),
    new Map(keys.map((key) => [key, addresses])),
  );
};

export const move = (controller: Controller, name: string, addresses: readonly BackendAddress[]): void =>
  controller.server.publishAddresses(new Map([[endpointsOf(name), addresses]]));

export interface Stage {
  readonly folder: Folder;
  readonly controller: Controller;
  /** Flags of a proxy. */
  flags(...more: string[]): string[];
  start(...more: string[]): Promise<GatewayProcess>;
}

export async function stage(t: TestContext): Promise<Stage> {
  const folder = new Folder(t);
  const controller = await startController(t, folder);
  const tokenFile = folder.write('token', 'ns.gw.pod');
  const flags = (...more: string[]): string[] => [
    'proxy',
    `--controller=${controller.url.host}`,
    '--gateway=ns/gw',
    `--token-file=${tokenFile}`,
    `--ca-file=${folder.caFile}`,
    ...more,
  ];
  return {
    folder,
    controller,
    flags,
    start: async (...more) => await startGateway('', { args: flags(...more) }),
  };
}

export const synchronized = async (gateway: GatewayProcess): Promise<boolean> =>
  (await gateway.metric('portcullis_config_synchronized')) === 1;

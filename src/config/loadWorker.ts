import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { portionsOf, withoutRoutes, type ModelFrame, type Route } from '../model/index.ts';
import { loadText, type LoadOptions, type LoadResult } from './load.ts';

export interface LoadOrder extends LoadOptions {
  readonly text: string;
  readonly port: MessagePort;
}

/** Messages of the port: the frame of a model, its routes in portions, and at last a result. */
export type Portion =
  | { readonly routes: readonly Route[] }
  | { readonly frame: ModelFrame; readonly rest: Omit<Extract<LoadResult, { ok: true }>, 'model'> }
  | { readonly refused: Extract<LoadResult, { ok: false }> };

const { text, file, env, port } = workerData as LoadOrder;
const send = (message: Portion): void => port.postMessage(message);

const result = loadText(text, { file, env });
if (result.ok) {
  const { model, ...rest } = result;
  const { frame, routes } = withoutRoutes(model);
  for (const portion of portionsOf(routes)) send({ routes: portion });
  send({ frame, rest });
} else send({ refused: result });
parentPort?.postMessage('sent');

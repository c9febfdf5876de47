import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import type { Model, Route } from '../../model/index.ts';
import { loadText, type LoadOptions, type LoadResult } from './load.ts';
import { withoutRoutes } from './loadElsewhere.ts';

export interface LoadOrder extends LoadOptions {
  readonly text: string;
  readonly port: MessagePort;
}

/** Messages of the port: the frame of a model, its routes in portions, and at last a result. */
export type Portion =
  | { readonly routes: readonly Route[] }
  | { readonly frame: Model; readonly rest: Omit<Extract<LoadResult, { ok: true }>, 'model'> }
  | { readonly refused: Extract<LoadResult, { ok: false }> };

/** So many routes are taken over in a few milliseconds. */
const portion = 256;

const { text, file, env, port } = workerData as LoadOrder;
const send = (message: Portion): void => port.postMessage(message);

const result = loadText(text, { file, env });
if (result.ok) {
  const { model, ...rest } = result;
  const { frame, routes } = withoutRoutes(model);
  for (let at = 0; at < routes.length; at += portion) send({ routes: routes.slice(at, at + portion) });
  send({ frame, rest });
} else send({ refused: result });
parentPort?.postMessage('sent');

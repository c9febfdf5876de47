import type { WatchedMembers } from '../json/outline.ts';
import { metaKeys } from './eras.ts';

const watch = (
  names: readonly string[],
  within: Readonly<Record<string, WatchedMembers>> = {},
): WatchedMembers =>
  new Map<string, WatchedMembers | undefined>([
    ...names.map((name) => [name, undefined] as const),
    ...Object.entries(within),
  ]);

const task = watch(['taskId']);
const named = ['name', 'uri', 'level', 'cursor', 'requestId', 'protocolVersion', 'taskId'];

const body = watch([...named, 'arguments', 'requestState', 'inputResponses', 'notifications'], {
  task,
  _meta: watch(['progressToken', ...Object.values(metaKeys)], {
    'io.modelcontextprotocol/related-task': task,
  }),
  ref: watch(['type', 'name', 'uri']),
  argument: watch(['name']),
  context: watch(['arguments']),
});

/**
 * Every member of a client's message that the gateway asks for. Those of a large message are found while it is read;
 * one that is missing here costs a search of the whole text.
 */
export const clientMembers: WatchedMembers = watch(['jsonrpc', 'id', 'method', 'error'], {
  params: body,
  result: body,
});

import { ApiError } from '../api/apiError.ts';
import { isRecord, type KubeObject } from '../api/object.ts';
import { apiVersionOf, type Resource } from '../api/resource.ts';

/** The server sent something that is no list and no watch event. Silence about it would be a store that is wrong. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject; readonly version: string }
  /** A bookmark without a change; a watch may be resumed from here. */
  | { readonly type: 'BOOKMARK'; readonly version: string };

/** A list without its items, which come one by one. */
export interface Page {
  /** The version from which a watch misses no event. */
  readonly version: string;
  /** Asks for the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/**
 * Reads a line of a watch.
 *
 * @throws ApiError where the server ends the watch with a status, 410 for one
 * @throws UnreadableAnswer
 */
export function readEvent(line: string, resource: Resource): WatchEvent {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    // The text itself may be a Secret.
    throw new UnreadableAnswer(`a line of ${String(line.length)} characters is not JSON`);
  }
  if (!isRecord(event)) throw new UnreadableAnswer('an event is not an object');
  const { type, object } = event;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const read = readObject(object, resource);
      return { type, object: read, version: versionOf(read) };
    }
    case 'BOOKMARK':
      return { type, version: versionOf(object) };
    case 'ERROR':
      throw ApiError.fromStatus(object, { status: 500, message: 'the watch ended with an error' });
    default:
      throw new UnreadableAnswer(`an event has the type ${JSON.stringify(type)}`);
  }
}

/** Reads an item of a list. @throws UnreadableAnswer */
export function readItem(text: string, resource: Resource): KubeObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UnreadableAnswer(`an item of ${String(text.length)} characters is not JSON`);
  }
  return readObject(value, resource);
}

/** Reads what stands around the items of a page. @throws UnreadableAnswer */
export function readPage(answer: unknown): Page {
  if (!isRecord(answer) || !isRecord(answer['metadata']))
    throw new UnreadableAnswer('a list has no metadata');
  // An empty list of some kinds is null.
  const items = answer['items'] ?? [];
  if (!Array.isArray(items)) throw new UnreadableAnswer('the items of a list are not a list');
  const { continue: next } = answer['metadata'];
  if (items.length > 0) throw new UnreadableAnswer('an item of a list is no object');
  return {
    version: versionOf(answer),
    next: typeof next === 'string' && next !== '' ? next : undefined,
  };
}

function readObject(value: unknown, resource: Resource): KubeObject {
  if (!isRecord(value) || !isRecord(value['metadata']))
    throw new UnreadableAnswer('an object has no metadata');
  const { name, namespace } = value['metadata'];
  if (typeof name !== 'string' || name === '') throw new UnreadableAnswer('an object has no name');
  if (resource.namespaced && (typeof namespace !== 'string' || namespace === ''))
    throw new UnreadableAnswer(`the object ${name} has no namespace`);
  // Items of a list do not say again what they are.
  return { ...value, apiVersion: apiVersionOf(resource), kind: resource.kind } as KubeObject;
}

function versionOf(value: unknown): string {
  const metadata = isRecord(value) ? value['metadata'] : undefined;
  const version = isRecord(metadata) ? metadata['resourceVersion'] : undefined;
  if (typeof version !== 'string' || version === '')
    throw new UnreadableAnswer('there is no resourceVersion');
  return version;
}

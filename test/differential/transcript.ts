import { folderMark } from './subject.ts';

/** A line of what a client saw, without what may differ between two runs. */
export interface Line {
  /** The step and its number for an answer; the method, and the token of progress, for other messages. */
  readonly label: string;
  readonly text: string;
  readonly status?: number;
  /** The kind of stream that carried the message. */
  readonly stream?: string;
}

export interface Transcript {
  /** In the order of the requests. */
  readonly answers: readonly Line[];
  /** Requests and notifications of the server, in the order of their arrival. */
  readonly heard: readonly Line[];
}

type Json = Readonly<Record<string, unknown>>;

/** Members whose values are ids: those of a run are counted, so that equal ids stay equal. */
const idMembers = new Set(['taskId', 'elicitationId', 'requestState']);

/**
 * Writes messages so that two of them can be compared: with all members in their order and all numbers as they were
 * written, but without the id of the message, and with counted ids in place of random ones.
 */
export class Writer {
  private readonly ids = new Map<string, string>();
  private readonly folder: string;
  private readonly change: (message: object) => object;

  /** @param change from the names of the client to those of the server */
  constructor(folder: string, change: (message: object) => object) {
    this.folder = folder;
    this.change = change;
  }

  write(text: string): string {
    const parsed = JSON.parse(
      text,
      keepNumber as (this: unknown, key: string, value: unknown) => unknown,
    ) as Json;
    return JSON.stringify(this.change({ ...parsed, id: undefined }), (key, value: unknown) =>
      idMembers.has(key) && typeof value === 'string' ? this.counted(value) : value,
    ).replaceAll(this.folder, folderMark);
  }

  private counted(id: string): string {
    const known = this.ids.get(id) ?? `id ${this.ids.size + 1}`;
    this.ids.set(id, known);
    return known;
  }
}

/** A number that JavaScript would write otherwise (`1.0`, `1e3`, one of 20 digits) stays as it was written. */
function keepNumber(_: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || context.source === String(value)) return value;
  return { number: context.source };
}

/** Server-sent events (HTML Living Standard §9.2), the writing side. */

import type { HeaderLine } from './exchange.ts';

/**
 * Headers of an event stream. `no-transform` keeps compressing proxies from holding events back, and
 * `x-accel-buffering` does the same for nginx.
 */
export const eventStreamHeaders: readonly HeaderLine[] = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-cache, no-transform'],
  ['x-accel-buffering', 'no'],
];

export interface EventOptions {
  /** Event type; readers take `message` where it is absent. */
  readonly event?: string;
  /** Event id for resumption; must hold no line break and no NUL. */
  readonly id?: string;
  /** The time that the reader waits before it connects again, in milliseconds. */
  readonly retry?: number;
}

const lineBreak = /\r\n|\r|\n/;

/**
 * Formats an event. A line break in `data` (a bare CR counts as one) starts a new `data:` line, so that no
 * payload can begin a field or an event of its own.
 */
export function formatEvent(data: string, options: EventOptions = {}): string {
  let text = '';
  if (options.event !== undefined) text += `event: ${options.event}\n`;
  if (options.id !== undefined) text += `id: ${options.id}\n`;
  if (options.retry !== undefined) text += `retry: ${options.retry}\n`;
  if (!data.includes('\n') && !data.includes('\r')) return `${text}data: ${data}\n\n`;
  for (const line of data.split(lineBreak)) text += `data: ${line}\n`;
  return `${text}\n`;
}

/** A comment: readers ignore it; it keeps the connection alive through idle time-outs. */
export function formatComment(text: string): string {
  return `: ${text.replaceAll(/[\r\n]/g, ' ')}\n\n`;
}

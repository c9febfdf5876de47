import type { Socket } from 'node:net';
import type { TokenLimit } from '../../policies/index.ts';

/**
 * The messages between workers and the counter of tokens: JSON, a line for each message. Everything that came
 * together is asked for, and answered, in one.
 */
export interface ToCounter {
  /** The secret of the tree; comes first. */
  readonly secret?: string;
  readonly open?: readonly [id: number, place: string, limits: readonly TokenLimit[]];
  readonly close?: number;
  readonly draw?: readonly DrawLine[];
}

export type DrawLine = readonly [question: number, id: number, keys: readonly string[]];

export interface FromCounter {
  readonly drawn: readonly DrawnLine[];
}

export type DrawnLine = readonly [
  question: number,
  allowed: boolean,
  most: number,
  left: number,
  fillMs: number,
  limit: number,
];

export const lineOf = (message: ToCounter | FromCounter): string => `${JSON.stringify(message)}\n`;

/**
 * Hears every message of a connection.
 * @param longest line that is waited for, in characters; longer ones end the connection
 */
export function hearLines(
  socket: Socket,
  longest: () => number,
  hear: (message: ToCounter & FromCounter) => void,
): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    try {
      for (const line of lines) hear(JSON.parse(line) as ToCounter & FromCounter);
    } catch {
      socket.destroy();
    }
    if (rest.length > longest()) socket.destroy();
  });
}

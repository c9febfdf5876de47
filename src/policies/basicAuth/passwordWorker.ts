import { parentPort } from 'node:worker_threads';
import { checkPassword } from './checkPassword.ts';

/** A password to check, and the answer about it. */
export interface Question {
  readonly id: number;
  readonly password: string;
  readonly hash: string;
}
export interface Answer {
  readonly id: number;
  readonly right: boolean;
}

parentPort?.on('message', ({ id, password, hash }: Question) => {
  const answer: Answer = { id, right: checkPassword(password, hash) };
  parentPort?.postMessage(answer);
});

import type { Bind } from '../../model/index.ts';

/** A port of the model that could not be bound: nothing else of the model is the worse for it. */
export interface ClosedPort {
  /** As that of a `BindView`. */
  readonly key: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
  readonly problem: string;
}

/** The meaning of the system's error codes when a port is bound. */
const hints: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'another program listens there'],
  ['EACCES', 'this user may not open it; ports below 1024 take a privilege'],
]);

/** Says which port could not be bound, and why. */
export function bindProblem({ port, address }: Pick<Bind, 'port' | 'address'>, cause: unknown): Error {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
  const hint = hints.get(code);
  const on = address === undefined ? '' : ` on ${address}`;
  const error = new Error(
    `port ${port}${on} cannot be bound: ${code}${hint === undefined ? '' : ` (${hint})`}`,
    { cause },
  );
  return Object.assign(error, { port });
}

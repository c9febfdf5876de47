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

/** A single address overlaps with all addresses, and the old one stays open until the swap. */
const ownPort = 'this gateway listens there on an address that overlaps; such a change takes a restart';

/** The keys of all addresses together begin with the port, or with one of these. */
const everywhere = /^(?:\d+$|0\.0\.0\.0:|\[::\]:)/;

/**
 * Says which port could not be bound, and why.
 * @param open the ports of this gateway that are open
 */
export function bindProblem(
  { port, address }: Pick<Bind, 'port' | 'address'>,
  cause: unknown,
  open: Iterable<{ readonly key: string; readonly port: number }> = [],
): Error {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
  const isWide = address === undefined || address === '0.0.0.0' || address === '::';
  const isOwn =
    code === 'EADDRINUSE' &&
    [...open].some((one) => one.port === port && (isWide || everywhere.test(one.key)));
  const hint = isOwn ? ownPort : hints.get(code);
  const on = address === undefined ? '' : ` on ${address}`;
  const error = new Error(
    `port ${port}${on} cannot be bound: ${code}${hint === undefined ? '' : ` (${hint})`}`,
    { cause },
  );
  return Object.assign(error, { port });
}

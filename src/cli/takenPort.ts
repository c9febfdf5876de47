import { portHolder } from './portHolder.ts';

/** Says who holds the port that a gateway could not open, and how to choose another; empty for other errors. */
export function takenPortAdvice(error: unknown): string {
  const port = takenPort(error);
  if (port === undefined) return '';
  const holder = portHolder(port);
  const held = holder === undefined ? '' : `port ${String(port)} is in use by ${holder}\n`;
  return `${held}To change the port of a listener, edit \`port\` in the configuration. To move the ports for admin, metrics and
readiness, start with --admin-port N; to switch them off, start with --no-admin.
`;
}

/** The port that an error or its causes say is in use. */
function takenPort(error: unknown): number | undefined {
  let isTaken = false;
  let port: number | undefined;
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code, port: named } = one as NodeJS.ErrnoException & { readonly port?: unknown };
    isTaken ||= code === 'EADDRINUSE';
    if (typeof named === 'number' && named > 0) port ??= named;
  }
  return isTaken ? port : undefined;
}

/** The exit codes of the program. Also in `--help` and docs/configuration.md. */
export const exitCode = {
  ok: 0,
  /** The configuration is invalid; its problems are on standard error. */
  invalid: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The gateway could not start (a port in use, say), or a command could not do its work. */
  failed: 3,
} as const;

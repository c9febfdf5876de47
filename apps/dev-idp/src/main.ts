import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { loadConfig } from './config.ts';
import { startDevIdp, type DevIdpOptions } from './server.ts';

const usage = `usage: portcullis idp [--config idp.yaml] [--port 9000] [--host 127.0.0.1] [--force-public]
       node apps/dev-idp/src/main.ts …

An authorization server for trials and tests. It is not made to guard anything.

  --config FILE    scopes, clients, users, lifetimes (YAML); built-in ones otherwise
  --port N         the port, 0 for a free one
  --host ADDRESS   the address to listen on
  --force-public   allow an address that other machines can reach

The requests to /admin/… need the secret in IDP_ADMIN_SECRET, or the random one that is printed at the start,
as "Authorization: Bearer SECRET".
`;

/**
 * Runs the authorization server until SIGINT or SIGTERM.
 * Answers the exit code: 0 stopped, 1 could not start, 2 wrong usage.
 */
export async function main(argv: string[]): Promise<number> {
  let values;
  try {
    ({ values } = parseArgs({
      args: argv,
      options: {
        config: { type: 'string' },
        port: { type: 'string' },
        host: { type: 'string' },
        'force-public': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
    if (values.port !== undefined && !/^\d{1,5}$/.test(values.port))
      throw new Error(`not a port: ${values.port}`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  try {
    const options: DevIdpOptions = {
      config: values.config === undefined ? undefined : await loadConfig(values.config),
      port: values.port === undefined ? undefined : Number(values.port),
      host: values.host,
      forcePublic: values['force-public'],
      adminSecret: process.env['IDP_ADMIN_SECRET'] || undefined,
      log: (line) => process.stderr.write(`${line}\n`),
    };
    const idp = await startDevIdp(options);
    process.stdout.write(
      `issuer ${idp.issuer}\ntoken endpoint ${idp.issuer}/v1/token\nkeys ${idp.issuer}/v1/keys\n` +
        (options.adminSecret === undefined ? `admin secret ${idp.adminSecret}\n` : ''),
    );
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    await idp.close();
    return 0;
  } catch (error) {
    process.stderr.write(`the authorization server cannot start: ${(error as Error).message}\n`);
    return 1;
  }
}

if (import.meta.main) void main(process.argv.slice(2)).then((code) => (process.exitCode = code));

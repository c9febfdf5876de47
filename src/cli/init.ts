import { messageOf } from '../errorText.ts';
import { UsageError, type Command, type Flag, type Flags, type Terminal } from './command.ts';
import { exitCode } from './exitCode.ts';
import type { Grant, Server, Setup } from './setup/setup.ts';

/** Flags of `init` and `import`: the protection, and the files that they write. */
export const setupFlags: Readonly<Record<string, Flag>> = {
  issuer: {
    type: 'string',
    value: 'URL',
    help: 'issuer of the tokens; by default that of `portcullis idp`',
    once: true,
  },
  audience: {
    type: 'string',
    value: 'TEXT',
    help: 'audience of the tokens; by default the address of the gateway',
    once: true,
  },
  allow: {
    type: 'string',
    value: 'GROUP=TOOLS',
    help: 'tools of a group: names with commas between them, SERVER:NAME for several servers, * for all; repeatable',
    multiple: true,
  },
  'group-claim': {
    type: 'string',
    value: 'NAME',
    help: 'claim with the groups of a caller (groups)',
    once: true,
  },
  port: { type: 'string', value: 'N', help: 'port of the gateway (3000)', once: true },
  output: {
    type: 'string',
    short: 'o',
    value: 'FOLDER',
    help: 'folder for the files (this one)',
    once: true,
  },
  force: { type: 'boolean', help: 'replace files that are there' },
  'no-check': { type: 'boolean', help: 'start no server, and do not look at the issuer' },
};

export const init: Command = {
  summary: 'write a configuration for MCP servers: asks, or takes flags',
  usage: '[--server SPEC]… [--issuer URL] [--audience TEXT] [--allow GROUP=TOOLS]…',
  flags: {
    server: {
      type: 'string',
      value: 'SPEC',
      help: 'MCP server: npm:PACKAGE, pypi:PACKAGE, URL or command with arguments; NAME= before it names it; repeatable',
      multiple: true,
    },
    env: {
      type: 'string',
      value: 'SERVER.KEY=VALUE',
      help: 'variable for a server, kept in .env; repeatable',
      multiple: true,
    },
    ...setupFlags,
    ask: { type: 'boolean', help: 'ask for the values, also where standard input is no terminal' },
  },
  positionals: 0,
  async run(flags, _positionals, terminal) {
    const isAsked = flags['ask'] === true || (listOf(flags, 'server').length === 0 && process.stdin.isTTY);
    if (isAsked) return await asked(flags, terminal);
    const servers = await serversOf(listOf(flags, 'server'), listOf(flags, 'env'));
    if (servers.length === 0)
      throw new UsageError('--server is required, because there is no terminal to ask at');
    return await finish(flags, servers, await grantsOf(flags, servers), 'portcullis init', terminal);
  },
};

/** The values of a flag that may be repeated. */
export const listOf = (flags: Flags, name: string): readonly string[] => {
  const value = flags[name];
  return Array.isArray(value) ? (value as readonly string[]) : [];
};

/** @param others servers of the same set-up, whose names and variables are taken */
async function serversOf(
  specs: readonly string[],
  variables: readonly string[],
  others: readonly Server[] = [],
): Promise<readonly Server[]> {
  const { readServer } = await import('./setup/server.ts');
  const read = variables.map((text) => {
    const [, server = '', key = '', value = ''] = /^([A-Za-z0-9-]+)\.([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
    if (server === '') throw new UsageError('--env: expected SERVER.KEY=VALUE');
    return { server, key, value };
  });
  const servers: Server[] = [];
  for (const spec of specs) {
    const before = [...others, ...servers];
    const { name } = readServer(spec, {}, before);
    if (before.some((one) => one.name === name))
      throw new UsageError(`--server: a second server is named ${name}`);
    const own = read.filter(({ server }) => server === name).map(({ key, value }) => [key, value] as const);
    servers.push(readServer(spec, Object.fromEntries(own), before));
  }
  const lost = read.find(({ server }) => !servers.some(({ name }) => name === server));
  if (lost !== undefined) throw new UsageError(`--env: there is no server ${lost.server}`);
  return servers;
}

/** The grants of `--allow`. */
export async function grantsOf(flags: Flags, servers: readonly Server[]): Promise<readonly Grant[]> {
  const { readGrant } = await import('./setup/grants.ts');
  return listOf(flags, 'allow').map((text) => readGrant(text, servers));
}

/** Checks a set-up, writes its files and says how they are used. @returns the exit code */
export async function finish(
  flags: Flags,
  servers: readonly Server[],
  grants: readonly Grant[],
  command: string,
  terminal: Terminal,
): Promise<number> {
  const { checkServers, checkSetup } = await import('./setup/checkSetup.ts');
  const setup = await setupOf(flags, servers, grants);
  if (flags['no-check'] !== true) {
    const { known, problems } = await checkServers(servers, terminal);
    const found = [...problems, ...(await checkSetup(setup, known, terminal.env))];
    for (const problem of found) terminal.err(`portcullis: ${problem}\n`);
    if (found.length > 0) {
      terminal.err('portcullis: nothing was written; --no-check writes the files all the same\n');
      return exitCode.failed;
    }
  }
  return await write(setup, flags, command, terminal);
}

async function setupOf(flags: Flags, servers: readonly Server[], grants: readonly Grant[]): Promise<Setup> {
  const { endpointOf, trial } = await import('./setup/setup.ts');
  const given = (name: string): string | undefined => {
    const value = flags[name];
    return typeof value === 'string' ? value : undefined;
  };
  const port = Number(/^\d{1,5}$/.exec(given('port') ?? '3000')?.[0] ?? Number.NaN);
  if (!(port >= 1 && port <= 65_535)) throw new UsageError('--port: expected a port from 1 to 65535');
  const issuer = given('issuer') ?? trial.issuer;
  if (!URL.canParse(issuer) || !/^https?:/.test(issuer))
    throw new UsageError('--issuer: expected an http or https URL');
  const usual = issuer === trial.issuer ? trial.audience : endpointOf({ port });
  const groupClaim = given('group-claim') ?? 'groups';
  return { issuer, audience: given('audience') ?? usual, port, groupClaim, servers, grants };
}

async function write(setup: Setup, flags: Flags, command: string, terminal: Terminal): Promise<number> {
  const { writeFiles } = await import('./setup/writeFiles.ts');
  const { endpointOf, trial } = await import('./setup/setup.ts');
  const { output } = flags;
  const folder = typeof output === 'string' ? output : '.';
  const run = writeFiles(setup, { folder, force: flags['force'] === true, command }, terminal);
  if (setup.issuer === trial.issuer)
    terminal.out('The issuer is an authorization server for trials. Start it with: portcullis idp\n');
  terminal.out(
    `Start the gateway with: portcullis run ${run.join(' ')}\nClients connect to ${endpointOf(setup)}\n`,
  );
  return exitCode.ok;
}

/** Asks for each value, and checks each answer before the next question. */
async function asked(flags: Flags, terminal: Terminal): Promise<number> {
  const { Questions } = await import('./setup/questions.ts');
  const { checkServers, checkSetup } = await import('./setup/checkSetup.ts');
  const { readGrant } = await import('./setup/grants.ts');
  const { trial, endpointOf } = await import('./setup/setup.ts');
  const questions = new Questions();
  /** Asks again until the answer can be used. */
  const until = async <T>(
    question: string,
    otherwise: string,
    use: (answer: string) => Promise<T>,
  ): Promise<T> => {
    for (;;)
      try {
        return await use(await questions.ask(question, otherwise));
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        terminal.err(`${error.message}\n`);
      }
  };
  const fail = (problems: readonly string[]): void => {
    if (problems.length > 0) throw new UsageError(problems.join('\n'));
  };
  try {
    const { port } = await setupOf(flags, [], []);
    const protection = await until('Issuer of the tokens', trial.issuer, async (issuer) => {
      const usual = issuer === trial.issuer ? trial.audience : endpointOf({ port });
      const audience = await questions.ask('Audience of the tokens', usual);
      const given = { ...flags, issuer, audience };
      const setup = await setupOf(given, [placeholder], []);
      if (flags['no-check'] !== true && issuer !== trial.issuer)
        fail(await checkSetup(setup, new Map(), terminal.env));
      return given;
    });
    const servers: Server[] = [];
    const known = new Map<string, readonly string[]>();
    for (;;) {
      const more =
        servers.length === 0
          ? 'MCP server (npm:PACKAGE, pypi:PACKAGE, URL or command)'
          : 'Another MCP server (empty: no more)';
      const server = await until(more, '', async (spec) => {
        if (spec === '' && servers.length > 0) return undefined;
        if (spec === '') throw new UsageError('a gateway needs a server');
        const { readServer } = await import('./setup/server.ts');
        const { name } = readServer(spec, {}, servers);
        if (servers.some((one) => one.name === name)) fail([`a second server is named ${name}`]);
        const env = /(?:^|=)https?:/.test(spec)
          ? ''
          : await questions.ask(`Variables for ${name} (KEY=VALUE, with spaces between them)`);
        const variables = env
          .split(/\s+/)
          .filter((one) => one !== '')
          .map((one) => `${name}.${one}`);
        const named = `${name}=${spec.replace(/^[A-Za-z0-9-]+=/, '')}`;
        const [read] = await serversOf([named], variables, servers);
        if (read === undefined || flags['no-check'] === true) return read;
        const checked = await checkServers([read], terminal);
        fail(checked.problems);
        for (const [of, tools] of checked.known) known.set(of, tools);
        return read;
      });
      if (server === undefined) break;
      servers.push(server);
    }
    const grants: Grant[] = [];
    for (;;) {
      const example = servers.length === 1 ? 'GROUP=TOOL,TOOL or GROUP=*' : 'GROUP=SERVER:TOOL or GROUP=*';
      const grant = await until(`Tools of a group (${example}; empty: no more)`, '', async (text) => {
        if (text === '') return undefined;
        const { unknownTools } = await import('./setup/grants.ts');
        const read = readGrant(text, servers);
        fail(unknownTools([read], known).map((tool) => `no server has the tool ${tool}`));
        return await Promise.resolve(read);
      });
      if (grant === undefined) break;
      grants.push(grant);
    }
    return await write(await setupOf(protection, servers, grants), protection, 'portcullis init', terminal);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    terminal.err(`portcullis: ${messageOf(error)}\n`);
    return exitCode.failed;
  } finally {
    questions.close();
  }
}

/** A server that stands for those to come while the issuer is checked. */
const placeholder: Server = {
  name: 'server',
  target: { mcp: { host: 'http://127.0.0.1:1/mcp' } },
  secrets: {},
};

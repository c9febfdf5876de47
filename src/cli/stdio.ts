import type { LoadResult } from '../config/index.ts';
import type { LocalGateway } from '../gateway/index.ts';
import { secretVariables, type Model } from '../model/index.ts';
import type { Command, Terminal } from './command.ts';
import { exitCode } from './exitCode.ts';
import { configurationFlags, givenConfiguration, inlineName, type Given } from './givenConfiguration.ts';
import { tokenVariable } from './stdioToken.ts';

/** The time for answers that are under way when the client closes standard input, in milliseconds. */
const settleMs = 1_000;
/** The time for servers to leave by themselves: clients wait some two seconds for this process. */
const childGraceMs = 1_000;

export const stdioCommand: Command = {
  summary: 'serve one MCP route of a configuration on standard input and output',
  usage: '-f FILE | -c YAML [--route NAME]',
  flags: {
    ...configurationFlags,
    route: {
      type: 'string',
      value: 'NAME',
      help: 'the route, as ROUTE or LISTENER/ROUTE; needed where several have MCP servers',
      once: true,
    },
  },
  positionals: 0,
  async run({ route, ...flags }, positionals, terminal) {
    const source = givenConfiguration(flags, positionals);
    return await serve(source, typeof route === 'string' ? route : undefined, terminal);
  },
};

type Loaded = Extract<LoadResult, { ok: true }>;

async function serve(source: Given, route: string | undefined, terminal: Terminal): Promise<number> {
  // Loaded here, so that the other commands start without the data plane.
  const { LocalGateway, StartError } = await import('../gateway/index.ts');
  const { createLogger, createMetrics, rememberSecrets } = await import('../telemetry/index.ts');
  const { FileSource, renderProblem } = await import('../config/index.ts');
  const { load, showProblems } = await import('./configuration.ts');
  const { env } = terminal;
  const token = env[tokenVariable];
  const own = secretVariables.flatMap((name) => env[name] ?? []);
  rememberSecrets(own);
  const secretsOf = ({ secrets }: Pick<Loaded, 'secrets'>): Loaded['secrets'] => ({
    variables: [...secretVariables, ...secrets.variables],
    values: [...own, ...secrets.values],
  });
  let gateway: LocalGateway | undefined;
  const file =
    'file' in source
      ? new FileSource({
          file: source.file,
          env,
          onModel: (model, warnings, secrets) => {
            gateway?.keepSecret(secretsOf({ secrets }));
            gateway?.offer(model, warnings.map(renderProblem));
          },
          onProblems: (problems) => gateway?.refuse(problems.map(renderProblem)),
        })
      : undefined;
  const loaded = file?.start() ?? load(source, terminal);
  if (!loaded.ok) {
    file?.close();
    showProblems(loaded.problems, terminal);
    return exitCode.invalid;
  }
  const { logLevel: level, logFormat: format } = loaded.model.process.fixed;
  const log = createLogger({ level, format });
  try {
    const name = 'file' in source ? source.file : inlineName;
    const options = { source: name, route, log, metrics: createMetrics(), secrets: secretsOf(loaded) };
    gateway = await LocalGateway.start(loaded.model, options);
    await carry(gateway, loaded.model, log, token);
    return exitCode.ok;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    for (const problem of error.problems) terminal.err(`portcullis: ${problem}\n`);
    return error.kind === 'configuration' ? exitCode.invalid : exitCode.failed;
  } finally {
    file?.close();
    await gateway?.close(childGraceMs);
    log.close();
  }
}

/** Carries messages until the client closes standard input, or this process is told to stop. */
async function carry(
  gateway: LocalGateway,
  { process: { limits } }: Model,
  log: Parameters<typeof LocalGateway.start>[1]['log'],
  token: string | undefined,
): Promise<void> {
  const { StdioEndpoint } = await import('./stdioEndpoint.ts');
  const { StdioBridge } = await import('./stdioBridge.ts');
  const { stdin, stdout } = process;
  const maxMessageBytes = limits.maxMcpMessageBytes;
  const endpoint = new StdioEndpoint({
    connect: () => gateway.connect(),
    path: gateway.path,
    token,
    maxMessageBytes,
  });
  const client = {
    write: (line: string) => stdout.write(line),
    onDrain: (listener: () => void) => void stdout.on('drain', listener),
    pause: () => void stdin.pause(),
    resume: () => void stdin.resume(),
  };
  const bridge = new StdioBridge({ endpoint, client, requests: gateway.requests, log, maxMessageBytes });
  const stopped = Promise.withResolvers<'ended' | 'told'>();
  const told = (): void => stopped.resolve('told');
  const ended = (): void => stopped.resolve('ended');
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, told);
  stdin.on('data', (bytes: Buffer) => bridge.push(bytes));
  stdin.on('end', ended);
  stdin.on('error', ended);
  // A client that does not read any more is gone.
  stdout.on('error', told);
  log.info('Serving on standard input and output', { route: gateway.route });
  if ((await stopped.promise) === 'ended') await bridge.settled(settleMs);
  bridge.close();
  stdin.destroy();
  for (const signal of signals) process.removeListener(signal, told);
}

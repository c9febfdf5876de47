import type { Environment } from '../../config/index.ts';
import { renderProblem, loadText } from '../../config/index.ts';
import type { Terminal } from '../command.ts';
import { checkOnline } from '../onlineCheck.ts';
import { printable } from '../printable.ts';
import { configurationText } from './configurationText.ts';
import { unknownTools } from './grants.ts';
import { listTools } from './listTools.ts';
import { trial, type Server, type Setup } from './setup.ts';

/** Starts the servers of a set-up one after the other, and shows their tools. @returns tools by server */
export async function checkServers(
  servers: readonly Server[],
  terminal: Terminal,
): Promise<{ readonly known: ReadonlyMap<string, readonly string[]>; readonly problems: readonly string[] }> {
  const known = new Map<string, readonly string[]>();
  const problems: string[] = [];
  for (const server of servers) {
    terminal.out(`${server.name}: starting (the first start of a package takes a while) …\n`);
    const listed = await listTools(server, terminal.env);
    if ('problem' in listed) problems.push(`${server.name}: ${printable(listed.problem)}`);
    else {
      known.set(server.name, listed.tools);
      const names = listed.tools.map(printable).join(', ');
      terminal.out(`${server.name}: ${String(listed.tools.length)} tools: ${names}\n`);
    }
  }
  return { known, problems };
}

/** The problems of a set-up: of its configuration, its issuer and the tools that it names. */
export async function checkSetup(
  setup: Setup,
  known: ReadonlyMap<string, readonly string[]>,
  env: Environment,
): Promise<readonly string[]> {
  const secrets = Object.assign({}, ...setup.servers.map((server) => server.secrets)) as Record<
    string,
    string
  >;
  const loaded = loadText(configurationText(setup, 'portcullis'), {
    file: 'portcullis.yaml',
    env: { ...env, ...secrets },
  });
  if (!loaded.ok) return loaded.problems.map(renderProblem);
  // The trial server may start later.
  const { problems, warnings } =
    setup.issuer === trial.issuer ? { problems: [], warnings: [] } : await checkOnline(loaded.model);
  return [
    ...[...problems, ...warnings].map(({ message }) => printable(message)),
    ...unknownTools(setup.grants, known).map((tool) => `no server has the tool ${tool}`),
  ];
}

import { messageOf } from '../errorText.ts';
import { logLevels } from '../model/index.ts';
import type { ApiOperation } from './api/operation.ts';
import type { AdminViews, McpState, Readiness } from './contract.ts';
import { json, text, type Answer, type Page } from './page.ts';
import { redactDump } from './redactDump.ts';
import { configOf, servingOf } from './stateOf.ts';

/** Everything that runs, and what is wrong with it; secrets replaced. */
const dump = async (views: AdminViews): Promise<Answer> => {
  const { workers, binds, closedPorts, brokenRoutes, certificates, keySets, mcp } = await servingOf(views);
  return json(
    200,
    redactDump(
      {
        version: views.version,
        readiness: views.readiness(),
        logLevel: views.logLevel(),
        config: configOf(views),
        workers,
        binds,
        closedPorts,
        brokenRoutes,
        certificates,
        keySets,
        mcp: mcp && withoutStderr(mcp),
        model: views.model() ?? null,
      },
      views.masked,
    ),
  );
};

/** Every local account may read the dump, and no account but the operator's the log of a child. */
const withoutStderr = ({ sessions, ...rest }: McpState): McpState => ({
  ...rest,
  sessions: sessions.map((session) => ({
    ...session,
    targets: session.targets.map(({ stderr: _, ...target }) => target),
  })),
});

const setLevel = (views: AdminViews, wanted: string | null): Answer => {
  const level = logLevels.find((each) => each === wanted);
  if (level === undefined) return text(400, `level must be one of ${logLevels.join(', ')}`);
  views.setLogLevel(level);
  return text(200, `log level is ${level}`);
};

const upgraded = async (views: AdminViews): Promise<Answer> => {
  if (views.upgrade === undefined)
    return text(404, 'there is no program that could take the place of this one');
  try {
    return text(200, `process ${await views.upgrade()} serves`);
  } catch (error) {
    return text(503, messageOf(error));
  }
};

/** The admin port: for the operator of this machine. @param others pages that belong to the console */
export const adminPages = (
  views: AdminViews,
  operations: readonly ApiOperation[],
  others: readonly Page[],
): readonly Page[] => {
  const pages: readonly Page[] = [
    {
      method: 'GET',
      path: '/config_dump',
      access: 'anyone',
      about: 'what runs now: model, configuration state, key sets, MCP sessions; secrets are replaced',
      answer: () => dump(views),
    },
    {
      method: 'GET',
      path: '/readyz',
      access: 'anyone',
      about: 'whether traffic may come, and what is wrong',
      answer: () => details(views),
    },
    {
      method: 'GET',
      path: '/logging',
      access: 'anyone',
      about: 'the log level',
      answer: () => text(200, `log level is ${views.logLevel()}`),
    },
    {
      method: 'POST',
      path: '/logging',
      access: 'operator',
      about: `?level=${logLevels.join('|')} sets the log level until the next start`,
      answer: ({ query }) => setLevel(views, query.get('level')),
    },
    {
      method: 'POST',
      path: '/quitquitquit',
      access: 'operator',
      about: 'drains and ends, like SIGTERM',
      answer: () => {
        views.drain();
        return text(202, 'draining');
      },
    },
    {
      method: 'POST',
      path: '/upgrade',
      access: 'operator',
      about: 'starts the program anew, hands it the ports and ends, like SIGUSR2; answers when that is done',
      answer: () => upgraded(views),
    },
    ...others,
    ...operations.map(({ page }) => page),
  ];
  const index = [
    `portcullis ${views.version}`,
    '',
    ...pages.map(({ method, path, about }) => `${method.padEnd(6)} ${path.padEnd(25)} ${about}`),
  ].join('\n');
  return [
    { method: 'GET', path: '/', access: 'anyone', about: 'this list', answer: () => text(200, index) },
    ...pages,
  ];
};

/** The stats port: for Prometheus. */
export const statsPages = (expose: () => Promise<string>, type: string): readonly Page[] => [
  {
    method: 'GET',
    path: '/metrics',
    access: 'anyone',
    about: 'Prometheus text format',
    answer: async () => ({ status: 200, body: await expose(), type }),
  },
];

const statusOf: Readonly<Record<Readiness, number>> = { starting: 503, ready: 200, draining: 503 };

/** The present problems, for the operator. */
const details = async (views: AdminViews): Promise<Answer> => {
  const { workers, binds, closedPorts, brokenRoutes, certificates, keySets } = await servingOf(views);
  const readiness = views.readiness();
  return json(
    statusOf[readiness],
    redactDump(
      {
        readiness,
        config: configOf(views),
        workers,
        binds,
        closedPorts,
        brokenRoutes,
        certificates,
        keySets,
      },
      views.masked,
    ),
  );
};

/** The readiness port: for the thing that decides whether to send traffic. */
export const readinessPages = (views: AdminViews): readonly Page[] => [
  {
    method: 'GET',
    path: '/healthz/live',
    access: 'anyone',
    about: '200 as long as the process can answer at all',
    answer: () => text(200, 'live'),
  },
  {
    method: 'GET',
    path: '/healthz/ready',
    access: 'anyone',
    about: '200 when traffic may come',
    answer: () => text(statusOf[views.readiness()], views.readiness()),
  },
  {
    method: 'GET',
    path: '/readyz',
    access: 'anyone',
    about: 'the same, with details',
    answer: async () =>
      views.isShared === true
        ? json(statusOf[views.readiness()], { readiness: views.readiness() })
        : await details(views),
  },
];

import { messageOf } from '../errorText.ts';
import { logLevels } from '../model/index.ts';
import { json, text, type Answer, type Page } from './answer.ts';
import type { AdminViews, Readiness, RequestViews } from './contract.ts';
import type { TrialRequest } from '../proxy/index.ts';
import type { EventStreams } from './eventStream.ts';
import { redactDump } from './redactDump.ts';

const isoTime = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();

const configOf = (views: AdminViews) => {
  const { loadedAt, ...rest } = views.configState();
  return { ...rest, loadedAt: isoTime(loadedAt) };
};

const servingOf = async (views: AdminViews) => {
  const { certificates, ...rest } = await views.serving();
  return {
    ...rest,
    certificates: certificates.map(({ expiresAt, ...each }) => ({ ...each, expiresAt: isoTime(expiresAt) })),
  };
};

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
        mcp,
        model: views.model() ?? null,
      },
      views.masked,
    ),
  );
};

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

const requestPages = (views: RequestViews, streams: EventStreams): readonly Page[] => [
  {
    method: 'GET',
    path: '/api/v1/requests',
    about:
      'refusals and errors, and all requests while this page is open, as server-sent events; ?filter=CEL',
    answer: (query) => requests(views, streams, query.get('filter') ?? undefined),
  },
  {
    method: 'POST',
    path: '/api/v1/why',
    about:
      'explains the request in the body: {"request": "GET / HTTP/1.1\\nHost: …", "claims": …, "port": …, "client": …}',
    maxBody: maxTrial,
    answer: (_query, body) => why(views, body),
  },
];

/** Bytes of a request to explain, with its surroundings. */
const maxTrial = 1_048_576;

function requests(views: RequestViews, streams: EventStreams, filter: string | undefined): Answer {
  if (streams.isFull) return text(503, 'too many event streams are open');
  try {
    // The filter is checked before the answer begins.
    views.follow(() => undefined, filter)();
  } catch (error) {
    return text(400, `filter: ${messageOf(error)}`);
  }
  const stream: Answer['stream'] = (response) =>
    streams.serve(response, (send) => views.follow(send, filter));
  return { status: 200, body: '', stream };
}

async function why(views: RequestViews, body: string): Promise<Answer> {
  let asked: TrialRequest;
  try {
    asked = trialOf(JSON.parse(body));
  } catch (error) {
    return text(400, messageOf(error));
  }
  try {
    return json(200, await views.why(asked));
  } catch (error) {
    return text(422, messageOf(error));
  }
}

/** @throws Error naming the member that is wrong */
function trialOf(value: unknown): TrialRequest {
  const { request, claims, port, client, ...others } = Object(value) as Record<string, unknown>;
  const [unknownMember] = Object.keys(others);
  if (unknownMember !== undefined) throw new Error(`${unknownMember}: unknown member`);
  if (typeof request !== 'string') throw new Error('request: expected a text');
  if (claims !== undefined && (typeof claims !== 'object' || claims === null || Array.isArray(claims)))
    throw new Error('claims: expected an object');
  if (port !== undefined && !Number.isInteger(port)) throw new Error('port: expected a number');
  if (client !== undefined && typeof client !== 'string') throw new Error('client: expected an address');
  return {
    request,
    ...(claims === undefined ? {} : { claims: claims as NonNullable<TrialRequest['claims']> }),
    ...(port === undefined ? {} : { port: port as number }),
    ...(client === undefined ? {} : { client }),
  };
}

/** The admin port: for the operator of this machine. */
export const adminPages = (views: AdminViews, streams: EventStreams): readonly Page[] => {
  const pages: readonly Page[] = [
    {
      method: 'GET',
      path: '/config_dump',
      about: 'what runs now: model, configuration state, key sets, MCP sessions; secrets are replaced',
      answer: () => dump(views),
    },
    {
      method: 'GET',
      path: '/readyz',
      about: 'whether traffic may come, and what is wrong',
      answer: () => details(views),
    },
    {
      method: 'GET',
      path: '/logging',
      about: 'the log level',
      answer: () => text(200, `log level is ${views.logLevel()}`),
    },
    {
      method: 'POST',
      path: '/logging',
      about: `?level=${logLevels.join('|')} sets the log level until the next start`,
      answer: (query) => setLevel(views, query.get('level')),
    },
    ...(views.requests === undefined ? [] : requestPages(views.requests, streams)),
    {
      method: 'POST',
      path: '/quitquitquit',
      about: 'drains and ends, like SIGTERM',
      answer: () => {
        views.drain();
        return text(202, 'draining');
      },
    },
    {
      method: 'POST',
      path: '/upgrade',
      about: 'starts the program anew, hands it the ports and ends, like SIGUSR2; answers when that is done',
      answer: () => upgraded(views),
    },
  ];
  const index = [
    `portcullis ${views.version}`,
    '',
    ...pages.map(({ method, path, about }) => `${method.padEnd(4)} ${path.padEnd(16)} ${about}`),
  ].join('\n');
  return [{ method: 'GET', path: '/', about: 'this list', answer: () => text(200, index) }, ...pages];
};

/** The stats port: for Prometheus. */
export const statsPages = (expose: () => Promise<string>, type: string): readonly Page[] => [
  {
    method: 'GET',
    path: '/metrics',
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
    about: '200 as long as the process can answer at all',
    answer: () => text(200, 'live'),
  },
  {
    method: 'GET',
    path: '/healthz/ready',
    about: '200 when traffic may come',
    answer: () => text(statusOf[views.readiness()], views.readiness()),
  },
  {
    method: 'GET',
    path: '/readyz',
    about: 'the same, with details',
    answer: async () =>
      views.isShared === true
        ? json(statusOf[views.readiness()], { readiness: views.readiness() })
        : await details(views),
  },
];

import { area, ours, traceContext, type Requirement } from './requirement.ts';

const accessLog = 'src/telemetry/accessLog.test.ts';
const logger = 'src/telemetry/logger.test.ts';
const sink = 'src/telemetry/sink.test.ts';
const metrics = 'src/telemetry/metrics.test.ts';
const admin = 'src/admin/start.test.ts';
const operator = 'test/e2e/operator.test.ts';
const page = ours('docs/observability.md');
const promises = ours('SECURITY.md');
const workers = 'test/e2e/workers.test.ts';
const sessions = 'test/e2e/workerSessions.test.ts';
const relay = 'src/proxy/relay/relay.test.ts';
const workersPage = ours('docs/workers.md');
const upgrade = 'test/e2e/upgrade.test.ts';
const upgradePage = ours('docs/upgrade.md');

/** Logs, metrics, readiness, admin, start and end. */
export const operation: readonly Requirement[] = [
  ...area('workers', [
    [
      'share',
      'several processes serve one port, and what they count adds up',
      workersPage,
      [workers, 'the workers share one port, also one that the system chose, and their counts add up'],
      [
        'src/workers/sockets.test.ts',
        'a port that the system chooses is the same for every worker, and clients reach any listening one',
      ],
    ],
    [
      'foreign',
      'a second gateway does not share a port by mistake',
      workersPage,
      ['src/workers/sockets.test.ts', 'a second gateway cannot join in on a port by mistake'],
    ],
    [
      'configuration',
      'a configuration is taken by all workers or by none',
      workersPage,
      [workers, 'a new configuration reaches every worker; one that is refused reaches none'],
      [
        workers,
        'a worker that dies while it prepares a configuration leaves the old one in use, in all of them',
      ],
    ],
    [
      'death',
      'a dead worker costs its own requests and is replaced; its port goes on being served',
      workersPage,
      [workers, 'a worker killed under load costs the requests that it had, and another one takes its place'],
      [
        workers,
        'while a place is empty its connections are taken by a neighbour, however often the worker dies',
      ],
      [
        'src/workers/parts.test.ts',
        'a worker that dies once is replaced at once, one that dies over and over ever later',
      ],
    ],
    [
      'hanging',
      'a worker that hangs is replaced',
      workersPage,
      [
        'src/workers/processTree.test.ts',
        'a worker that hangs is killed and replaced; the other one is left alone',
      ],
    ],
    [
      'end',
      'no process outlives the gateway, however it ends',
      workersPage,
      [workers, 'SIGTERM drains every worker, and leaves no process behind'],
      [workers, 'when the main process is killed the workers and their children end by themselves'],
      [workers, 'the children of a killed worker end with it, and those of other workers continue'],
    ],
    [
      'lines',
      'log lines of several processes stay whole',
      workersPage,
      [workers, 'long lines of several workers do not break into each other'],
    ],
    [
      'tickets',
      'sessions of TLS are resumed by any worker, and only where they would have been let in',
      workersPage,
      [workers, 'a session of TLS is resumed whichever worker gets the connection'],
      [
        'src/proxy/ports/tickets.test.ts',
        'a session without a client certificate does not get in where one is asked for',
      ],
    ],
    [
      'cookies',
      'what one worker seals the others open',
      workersPage,
      [workers, 'a cookie that keeps a client at one backend means the same to every worker'],
    ],
    [
      'limits',
      'a rate limit holds for all workers together, to the request, and nothing passes uncounted',
      workersPage,
      [workers, 'a rate limit holds for all workers together, over a reload and the death of a worker'],
      [
        'src/workers/tokens/tokens.test.ts',
        'tokens that several workers draw at the same time add up to the limit exactly',
      ],
      [
        'src/workers/tokens/tokens.test.ts',
        'requests are refused while the counter does not answer, or after it has gone',
      ],
    ],
    [
      'sessions',
      'an MCP session is reached by any connection, as if there were one worker',
      workersPage,
      [sessions, 'every call of a session reaches its server, whatever connection it comes by'],
      [sessions, 'messages of the server arrive on a stream of any worker'],
      [sessions, 'DELETE ends the session wherever it comes in'],
      [sessions, 'each request is in the log and the metrics once'],
      [relay, 'the client looks the same from there as from here: addresses, handshake, version'],
      [relay, 'a slow client slows down the relayed response'],
    ],
    [
      'session-guards',
      'a session that is reached through another worker is guarded as any other, and so is the way there',
      workersPage,
      [sessions, 'the token is checked and the caller compared where the session is'],
      [sessions, 'the sockets between the workers are for this user alone'],
      [relay, 'every policy runs once, where the session is, and so do log and metrics'],
      [relay, 'the relay port refuses connections without the secret'],
    ],
    [
      'session-loss',
      'a worker that dies takes its sessions along and no others, and clients learn it as MCP says',
      workersPage,
      [sessions, 'a worker that dies takes its sessions along: 404 for them, nothing for the others'],
      [sessions, 'a client of the SDK learns that its session is gone, and begins another one'],
      [relay, 'a worker that ends in the middle of a request leaves an answer that says so, for JSON-RPC'],
    ],
  ]),
  ...area('binary-upgrade', [
    [
      'ports',
      'a new program takes over the ports of a running one without a refused connection or a lost request',
      upgradePage,
      [upgrade, 'two upgrades in a row under load with workers: ${workers} refuse and lose no request'],
      [upgrade, 'an upgrade takes another number of workers into use, more and fewer, under load'],
      [upgrade, 'datagrams are answered before, during and after an upgrade'],
    ],
    [
      'failure',
      'a new program that does not come up changes nothing, and says why',
      upgradePage,
      [upgrade, 'a new version that does not start leaves everything as it was, and says why'],
      ['src/workers/successor.test.ts', 'a program that is never ready is ended when its time is over'],
    ],
    [
      'end',
      'a signal to end that comes during an upgrade ends both programs',
      upgradePage,
      [upgrade, 'SIGTERM during an upgrade ends the old program and the new one'],
    ],
    [
      'sessions',
      'sessions of the old program are unknown to the new one, as MCP says it',
      upgradePage,
      [upgrade, 'a session of the old program is unknown to the new one, and its client begins anew'],
    ],
  ]),
  ...area('access-log', [
    [
      'json',
      'one JSON line per request with what is known',
      page,
      [accessLog, 'a JSON line has exactly the known fields'],
    ],
    ['text', 'one text line per request', page, [accessLog, 'a text line reads from left to right']],
    ['none', 'the access log can be switched off', page, [accessLog, 'the kind none writes nothing']],
    [
      'context',
      'request id and trace context stand in the line',
      page,
      [accessLog, 'a JSON line names route, backend, caller, error, trace and the fields added on the way'],
    ],
    [
      'forgery',
      'nothing a client sends breaks or forges a line',
      promises,
      [accessLog, 'a client cannot break or forge an access log line'],
    ],
    [
      'bounded',
      'a destination that stalls costs lines, not memory or time',
      promises,
      [sink, 'a destination that takes nothing costs lines, not memory, and the loss is reported'],
      [
        sink,
        'a full pipe blocks neither the process nor its end, and written lines arrive whole and in order',
      ],
    ],
  ]),
  ...area('trace-context', [
    [
      'parse',
      'traceparent of version 00 is read',
      traceContext('traceparent-header'),
      ['src/telemetry/traceparent.test.ts', 'a traceparent of version 00 is read'],
    ],
    [
      'versions',
      'later versions are read as far as they are known',
      traceContext('versioning-of-traceparent'),
      ['src/telemetry/traceparent.test.ts', 'a later version may say more behind a dash'],
    ],
    [
      'invalid',
      'an invalid traceparent is ignored',
      traceContext('traceparent-header'),
      ['src/telemetry/traceparent.test.ts', 'values that Trace Context says to ignore are ignored'],
    ],
  ]),
  ...area('log', [
    [
      'secrets',
      'credentials never reach the log',
      promises,
      [logger, 'credentials are replaced wherever they stand'],
    ],
    [
      'forgery',
      'a peer cannot forge a line or reach the terminal',
      promises,
      [logger, 'a peer cannot forge a line or send escapes to the terminal'],
    ],
    [
      'level',
      'the level changes while running',
      page,
      [logger, 'a level change reaches children that exist already'],
      [admin, 'the log level is set by POST, and a wrong one is refused'],
    ],
    [
      'exit',
      'the last lines before an abrupt end are written',
      page,
      [logger, 'the last line before an abrupt exit is written'],
    ],
  ]),
  ...area('metrics', [
    [
      'format',
      'metrics in the Prometheus text format on the stats port',
      page,
      [admin, 'the stats port serves metrics, with the state of the configuration among them'],
      [metrics, 'counters, gauges and histograms appear under the prefix in the Prometheus text format'],
    ],
    [
      'bounded',
      'label values from peers cannot grow a metric without end',
      promises,
      [metrics, 'label values from peers cannot grow a metric without end'],
    ],
    [
      'process',
      'the process reports on itself',
      page,
      [metrics, 'the process reports CPU, memory, garbage collection, event loop and descriptors'],
    ],
  ]),
  ...area('documented', [
    [
      'metrics',
      'every metric is documented',
      page,
      [operator, 'every metric of a running gateway is documented, and every documented one is there'],
    ],
  ]),
  ...area('readiness', [
    [
      'states',
      'ready answers 200, starting and draining 503',
      page,
      [admin, 'readiness follows the state: 503, 200, 503'],
    ],
    [
      'details',
      'a refused configuration shows in the details',
      page,
      [admin, 'readyz tells that a newer configuration was refused, and why'],
    ],
  ]),
  ...area('admin', [
    [
      'dump',
      'the dump shows what runs, without secrets',
      page,
      [admin, 'the configuration dump shows the running configuration without secrets'],
      [
        operator,
        'no secret of the configuration shows in the dump, the readiness details, the metrics or the logs',
      ],
      ['src/admin/redactDump.test.ts', 'values that stand where secrets stand are replaced'],
    ],
    [
      'rebinding',
      'a foreign Host is refused',
      promises,
      [admin, 'the admin port refuses a foreign Host: DNS rebinding'],
    ],
    [
      'cross-site',
      'requests of a page of another site are refused',
      promises,
      [admin, 'the admin port refuses requests of pages of other sites'],
    ],
    [
      'quit',
      'quitquitquit drains, on POST only',
      page,
      [admin, 'quitquitquit drains on POST only'],
      [operator, 'the admin port sets the log level and ends the gateway gracefully'],
    ],
    [
      'secret',
      'over TCP a change needs the secret of the operator',
      promises,
      [admin, 'every page that changes something refuses a request without the secret over TCP'],
      [operator, 'changes over the TCP admin port need the secret of the operator, which the commands find'],
    ],
    [
      'unix',
      'a unix socket is private and replaces a dead one',
      page,
      [admin, 'a unix socket is private, replaces a dead one, and never a living one'],
    ],
    ['ipv6-off', 'the address :: serves IPv4 as well', page, [admin, 'the address :: is reached over IPv4']],
  ]),
];

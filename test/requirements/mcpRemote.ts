import { area, mcp, ours, type Requirement } from './requirement.ts';

const page = ours('docs/mcp.md');
const transport = mcp('2025-11-25', 'basic/transports#streamable-http');
const security = mcp('2025-11-25', 'basic/security_best_practices#token-passthrough');
const reader = 'src/http/eventReader.test.ts';
const traffic = 'src/mcp/targets/http/remoteTransport.test.ts';
const sessions = 'src/mcp/targets/http/remoteSessions.test.ts';
const failures = 'src/mcp/targets/http/remoteFailures.test.ts';
const growth = 'src/mcp/targets/http/remoteGrowth.test.ts';
const reach = 'src/proxy/forward/mcpReach.test.ts';
const e2e = 'test/e2e/remoteMcp.test.ts';
const sdk = 'src/mcp/serve/sdk.test.ts';

/** MCP servers that are reached over the network. */
export const mcpRemote: readonly Requirement[] = [
  ...area('mcp.remote', [
    [
      'messages',
      'each message is a POST with the session and the revision, and both forms of answer are taken',
      transport,
      [traffic, 'every message is a POST of its own with the session and the revision that were agreed on'],
      [traffic, 'several messages in one answer are taken one by one'],
      [
        sdk,
        'the 1.x client lists and uses tools, prompts, resources, templates and completions, over ${kind}',
      ],
    ],
    [
      'events',
      'event streams are read however their bytes come, and within limits',
      'https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation',
      [reader, 'events are the same however the bytes come, and whatever ends a line'],
      [reader, 'an event over the limit is skipped with its ends told, and the next one is read'],
    ],
    [
      'initialized',
      'nothing is asked before the server knows that the client is initialized',
      mcp('2025-11-25', 'basic/lifecycle#initialization'),
      [traffic, 'a call waits until the server has taken note of initialized'],
    ],
    [
      'stream-of-call',
      'what the server says during a call stays on the stream of that call',
      transport,
      [traffic, 'progress and log lines stand on the stream of their call, under the token of the client'],
      [
        traffic,
        'a question inside a call goes on its stream, and the answer is posted under the id of the server',
      ],
    ],
    [
      'news',
      'what the server says by itself reaches the client',
      transport,
      [traffic, 'messages and requests of the server arrive on the stream that the client opened'],
      [sessions, 'the stream of news is opened again behind its last event'],
    ],
    [
      'stateless',
      'a server without sessions is served',
      transport,
      [
        traffic,
        'a server without sessions gets no session, is asked once for news, and is not told of the end',
      ],
    ],
    [
      'cancelled',
      'cancellation reaches the server, and leaving is none',
      mcp('2025-11-25', 'basic/utilities/cancellation'),
      [
        traffic,
        'a cancelled call is cancelled at the server under the id that it has there, and its stream is closed',
      ],
      [traffic, 'a client that leaves its call does not take it back'],
      [failures, 'a call that takes longer than the target may is given up, and the server is told'],
    ],
    [
      'resumed',
      'a broken stream is taken up again where it can be',
      transport,
      [
        sessions,
        'a stream of a call that breaks is taken up behind its last event, and the call is answered once',
      ],
      [sessions, 'a server may end the stream of a call to be asked for the rest'],
      [sessions, 'a stream of a call without event ids that breaks is the end of the call'],
    ],
    [
      'forgotten',
      'a session that the server forgot is begun again',
      transport,
      [sessions, 'a server that forgot the session is told everything again, and the client does not notice'],
      [sessions, 'requests of a server that lost its session are cancelled'],
      [
        sessions,
        'a server that keeps forgetting is given up with its reason, and tried again at the next call',
      ],
    ],
    [
      'bounded',
      'neither a server nor a client makes anything grow or wait without an end',
      page,
      [growth, 'a session that cannot be begun again keeps nothing of its attempts'],
      [growth, 'a session that the server began but did not get going is ended there'],
      [growth, 'a call does not wait for ever until a session is begun again'],
      [growth, 'a client that is initialized again and again is one request at a time'],
      [growth, 'a receipt that never ends is not waited for'],
      [growth, 'a call that is answered on the stream of another keeps no stream of its own'],
      [growth, 'requests that a server refused are not replayed after a restart'],
      [growth, 'a new server is told of many subscriptions a few at a time'],
      [growth, 'a session keeps a bounded part of its initialize request'],
    ],
    [
      'ended',
      'a session that ends is ended at the server, and nothing stays open',
      transport,
      [traffic, 'the end of a session is told to the server, and nothing is left open'],
      [traffic, 'the end of the gateway ends every session at the server'],
    ],
    [
      'slow-client',
      'a client that reads nothing holds the server back',
      page,
      [traffic, 'a client that reads nothing holds the server back'],
    ],
    [
      'tokens',
      'nothing of a client goes to the server, its token only where that is said',
      security,
      [reach, 'without a policy nothing of the client goes to the server, its verified token included'],
      [reach, 'the token that was verified goes on where a policy says so, and no other'],
      [traffic, 'headers of the client are not forwarded to the server'],
      [e2e, 'tokens are checked and rules hold as for children, and a token goes on only where that is said'],
    ],
    [
      'refused',
      'a refusal by the server is no challenge to the client',
      page,
      [failures, 'a refusal of initialize ends the session before it begins'],
      [failures, 'status ${status} with ${JSON.stringify(headers)} fails the call and nothing else', '401'],
    ],
    [
      'unreachable',
      'a server that cannot be reached fails what is asked of it, and its sessions stay',
      page,
      [
        failures,
        'a server that cannot be reached is an error that names the target; only the log names the address',
      ],
      [failures, 'a server that goes away and comes back loses no session over it'],
      [e2e, 'a server behind TLS is reached where its certificate is trusted, and nowhere else'],
    ],
    [
      'home',
      'a session stays with the address that opened it',
      page,
      [e2e, 'a session stays with the address that opened it, and goes to another one when that is gone'],
    ],
    [
      'limits',
      'messages, calls and time are limited',
      page,
      [failures, 'messages over the limit fail their call, as JSON and as events, and the session goes on'],
      [failures, 'a client with too many calls in flight is told so'],
      [failures, 'an answer in JSON that stops half way is given up after the limit for bodies'],
      [failures, 'a stream that stays open behind its response is closed after a while'],
    ],
  ]),
];

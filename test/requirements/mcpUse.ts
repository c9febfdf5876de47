import { area, mcp, ours, type Requirement } from './requirement.ts';

const promises = ours('SECURITY.md');
const page = ours('docs/configuration.md');
const transport = 'src/mcp/serve/transport.test.ts';
const parts = 'src/mcp/session/sessionParts.test.ts';
const sessions = 'src/mcp/session/sessions.test.ts';
const sink = 'src/mcp/session/eventSink.test.ts';
const journal = 'src/mcp/session/journal.test.ts';
const rules = 'src/mcp/items/callerRules.test.ts';
const tokens = 'test/e2e/tokens.test.ts';
const login = 'test/e2e/login.test.ts';
const clients = 'test/clients/clients.testing.ts';
const everyStep = 'takes every step with ${endpoint.name}';

/** The owner of a session, the rights of its caller, and the clients that were tried. */
export const mcpUse: readonly Requirement[] = [
  ...area('mcp.session', [
    ['altered', 'an altered id is unknown', promises, [sessions, 'an altered session id is unknown']],
    [
      'foreign',
      'a session does not exist for others',
      promises,
      [sessions, 'a session is of the principal that opened it; to others it does not exist'],
      [sessions, 'an anonymous session is closed to callers with a name'],
    ],
    [
      'reload',
      'a session stays with its backend over a reload',
      page,
      [sessions, 'a session stays with its backend over a reload, and is unknown at another one'],
      [sessions, 'when a backend vanishes its sessions end, and those of others stay'],
    ],
    [
      'idle',
      'an idle session ends, its child with it',
      page,
      [sessions, 'an idle session ends with its child process after its time to live'],
      [sessions, 'an open stream or a call in flight keeps a session alive'],
    ],
    [
      'limits',
      'sessions and children have a cap: 503 with Retry-After',
      page,
      [
        sessions,
        'with ${JSON.stringify(limits)} the third session gets 503 with Retry-After until there is room',
      ],
    ],
    [
      'slow-reader',
      'a client that reads slowly holds its own session back only',
      promises,
      [sink, 'a client that reads too slowly holds its session back until it has caught up'],
      [sink, 'a stream whose client reads nothing between two ticks is cut, and its session continues'],
    ],
    [
      'keep-alive',
      'a silent stream gets comments',
      ours('docs/mcp.md'),
      [sessions, 'a stream that is silent gets a comment from the timer'],
    ],
    [
      'resume',
      'a lost stream is resumed with Last-Event-ID, that stream only',
      mcp('2025-11-25', 'basic/transports#resumability-and-redelivery'),
      [journal, 'a client that lost the stream of a call resumes it and gets missed events and the response'],
      [journal, 'a resumed stream replays that stream only'],
      [journal, 'events are forgotten oldest first, by number and by size'],
    ],
    [
      'sealed',
      'an id can be neither read nor made up',
      promises,
      [parts, 'a session id is opaque without the key and cannot be altered'],
    ],
    [
      'label',
      'logs hold a label, not the id',
      promises,
      [transport, 'the access log learns method, item, target and a label of the session that is not its id'],
    ],
    [
      'bounded',
      'what waits for a client is bounded',
      promises,
      [parts, 'messages held for a client are bounded by number and size, and the oldest go first'],
    ],
    [
      'filtered',
      'a filtered list keeps the bytes of its remaining items',
      ours('ARCHITECTURE.md'),
      [parts, 'a filtered list keeps the bytes of its remaining items'],
    ],
  ]),
  ...area('mcp.access', [
    [
      'owner',
      'a session belongs to the issuer and subject that opened it',
      promises,
      [tokens, 'belongs to the issuer and subject that opened it'],
      [
        'src/proxy/exchange/callers.test.ts',
        'a token without a subject owns its sessions alone, whatever else it shares with others',
      ],
    ],
    [
      'no-child',
      'a refused caller starts no process',
      promises,
      [tokens, 'cannot be opened without the group, and starts no process then'],
    ],
    [
      'hidden-call',
      'a hidden item answers as if it did not exist',
      promises,
      [rules, '${method} of a hidden item answers as if it did not exist'],
      [rules, 'the answer for a hidden tool is the one for a tool that the server does not have'],
    ],
    [
      'hidden-list',
      'lists leave hidden items out',
      promises,
      [rules, '${method} leaves hidden items out'],
      [rules, 'tools/list leaves hidden tools out and keeps the rest as written, cursor included'],
    ],
    [
      'smuggled',
      'a call that names two tools is refused',
      promises,
      [rules, 'params ${params} name two tools, so the call is refused before the server reads one of them'],
    ],
    [
      'live',
      'a change of the rules takes effect in open sessions',
      page,
      [rules, 'each request uses its own rules, so a change applies to open sessions'],
    ],
    [
      'login',
      'a person logs in from the 401 alone',
      mcp('2025-11-25', 'basic/authorization'),
      [login, 'finds the login page from the 401, and comes in with what it gets there (SDK 1.x)'],
      [login, 'the same with SDK 2.x'],
      [login, 'a person outside the group can log in and is refused all the same'],
    ],
  ]),
  ...area('mcp.clients', [
    [
      'inspector',
      'the Inspector works with a bearer header',
      page,
      [clients, everyStep],
      ['test/clients/bundled.test.ts', 'the Inspector is refused without the group'],
    ],
    [
      'sdk2',
      'the SDK 2 client falls back to the session era',
      page,
      ['src/mcp/serve/sdk.test.ts', 'the 2.x client works (${mode}), with a server over ${server}'],
      [clients, everyStep],
    ],
    [
      'python',
      'the Python client works',
      page,
      ['test/e2e/python.test.ts', 'works through the gateway, negotiating the revision by ${mode}'],
      ['test/e2e/python.test.ts', 'is refused with a token of another audience'],
    ],
    [
      'sdk1',
      'the SDK 1 client works',
      page,
      [
        'src/mcp/serve/sdk.test.ts',
        'the 1.x client lists and uses tools, prompts, resources, templates and completions, over ${kind}',
      ],
      [
        'src/mcp/serve/sdk.test.ts',
        'sampling, elicitation and roots reach the 1.x client and come back, over ${kind}',
      ],
    ],
    [
      'demo',
      'the quickstart does what it prints',
      ours('docs/quickstart.md'),
      [
        'test/e2e/quickstart.test.ts',
        'npm run demo -- --once: every answer is the expected one, and the exit code says so',
      ],
      [
        'test/e2e/quickstart.test.ts',
        'the printed commands work when pasted, and Ctrl-C leaves no process behind',
      ],
    ],
  ]),
];

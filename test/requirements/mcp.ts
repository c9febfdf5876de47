import { area, mcp, ours, type Requirement } from './requirement.ts';

const revision = '2025-11-25';
const transports = mcp(revision, 'basic/transports#streamable-http');
const sessions = mcp(revision, 'basic/transports#session-management');
const promises = ours('SECURITY.md');
const transport = 'src/mcp/serve/transport.test.ts';
const conversation = 'src/mcp/serve/conversation.test.ts';
const parts = 'src/mcp/session/sessionParts.test.ts';
const envelope = 'src/mcp/json/envelope.test.ts';
const scan = 'src/mcp/json/scan.test.ts';
const features = 'test/e2e/features.testing.ts';
const beginning = 'src/mcp/serve/initialize.test.ts';
const itemRules = 'src/mcp/items/itemRules.test.ts';
const tasks = 'src/mcp/session/tasks.test.ts';
const renamed = 'src/mcp/items/renamedTarget.test.ts';
const itemNames = 'test/e2e/itemNames.test.ts';

/** Streamable HTTP in front, stdio behind. */
export const modelContextProtocol: readonly Requirement[] = [
  ...area('mcp.http', [
    [
      'revisions',
      'sessions of three revisions are served',
      transports,
      [transport, 'a session of revision ${version} is opened and used'],
    ],
    [
      'negotiation',
      'a revision that nobody speaks is negotiated',
      mcp(revision, 'basic/lifecycle#version-negotiation'),
      [beginning, 'the unknown revision ${JSON.stringify(asked)} is negotiated and never echoed'],
    ],
    [
      'stale-session',
      'a client whose session is over initializes again',
      sessions,
      [
        beginning,
        'initialize with the id of a session that is over, or is no session of the caller, begins a new one',
      ],
    ],
    [
      'initialize',
      'initialize answers with a session id of visible ASCII',
      sessions,
      [transport, 'initialize answers JSON with a session id that is visible ASCII'],
    ],
    [
      'notification',
      'a notification or response is taken with 202',
      transports,
      [transport, 'a notification and a response are taken with 202 and no body'],
    ],
    [
      'json-or-events',
      'the answer is JSON or events, as accepted',
      transports,
      [transport, 'Accept "${accept}" gets a JSON answer'],
      [transport, 'a client that takes only events gets its response as one'],
      [transport, 'a client that takes neither JSON nor events gets 406'],
    ],
    [
      'content-type',
      'another content type gets 415',
      transports,
      [transport, 'another content type gets 415'],
    ],
    [
      'bad-body',
      'a body that is no message gets 400 with a JSON-RPC error',
      'https://www.jsonrpc.org/specification#error_object',
      [transport, 'a body with ${why} gets 400 and JSON-RPC ${code}'],
    ],
    [
      'too-large',
      'a body over the limit gets 413',
      promises,
      [transport, 'a body over the limit gets 413 with a JSON-RPC error that has its size and the limit'],
    ],
    [
      'session-required',
      'a message without session gets 400, with an unknown one 404',
      sessions,
      [
        transport,
        'without a session id a message gets 400, with an unknown one 404, and both say so in JSON-RPC',
      ],
      [transport, 'GET and DELETE without a session get 400, with an unknown one 404'],
    ],
    [
      'delete',
      'DELETE ends the session',
      sessions,
      [transport, 'DELETE ends the session; after it, it is unknown'],
    ],
    [
      'method',
      'another method gets 405 with Allow',
      transports,
      [transport, '${method} gets 405 with Allow'],
    ],
    [
      'version',
      'an unsupported version gets 400 with the supported ones',
      mcp(revision, 'basic/transports#protocol-version-header'),
      [transport, 'an unsupported protocol version gets 400 with the supported ones'],
    ],
    [
      'batch',
      'batches are taken where the revision has them',
      mcp('2025-03-26', 'basic#batching'),
      [transport, 'in a 2025-03-26 session a batch gets one list of responses'],
    ],
    [
      'origin',
      'a foreign Origin gets 403',
      mcp(revision, 'basic/transports#security-warning'),
      [transport, 'a foreign Origin over loopback gets 403, a local one passes'],
      [parts, 'a rebound page, whose Host and Origin agree, is refused over loopback'],
    ],
    [
      'get',
      'GET opens a stream for what the server says by itself',
      transports,
      [conversation, 'list_changed goes on the GET stream, and the call stays plain JSON'],
      [transport, 'a GET that takes no events gets 406'],
    ],
    [
      'one-stream',
      'a message goes on one stream only',
      transports,
      [conversation, 'the newest GET stream gets each message once; after it closes, the one before it does'],
      [conversation, 'more GET streams than four are refused with 409'],
    ],
    [
      'disconnect',
      'leaving is no cancellation',
      transports,
      [conversation, 'leaving is no cancellation: the server goes on with the call'],
      [conversation, 'a client that leaves in the middle of a stream does not disturb the session'],
    ],
  ]),
  ...area('mcp.message', [
    [
      'bytes',
      'a message passes with every byte but its ids',
      ours('ARCHITECTURE.md'),
      [transport, 'a response passes with every byte but the id'],
      [envelope, 'replacing the id leaves every other byte of any message as it was'],
      [transport, 'unknown fields of a list survive'],
    ],
    [
      'ambiguous',
      'what two readers could read differently is refused',
      promises,
      [envelope, 'two readers could disagree on ${text}, so it is refused'],
      [parts, 'the item of a request is found in its place, and a second name for it is ambiguous'],
    ],
    [
      'scanner',
      'no text makes the scanner throw or run long',
      promises,
      [scan, 'on any text the scanner ends, stays within it and does not throw'],
      [
        scan,
        'a string of a million escaped quotes and a nesting of a million lists take no more than one pass',
      ],
    ],
    [
      'ids',
      'equal ids of two requests each get their own answer',
      mcp(revision, 'basic#requests'),
      [conversation, 'calls with the same id in different POSTs each get their own answer'],
      [conversation, 'the server sees ids and tokens of the gateway and everything else as it was sent'],
    ],
    [
      'progress',
      'progress comes under the token of the client',
      mcp(revision, 'basic/utilities/progress'),
      [
        conversation,
        'progress comes on the stream of its call, under the client’s token, before the response',
      ],
    ],
    [
      'cancel',
      'a cancellation reaches the server',
      mcp(revision, 'basic/utilities/cancellation'),
      [
        conversation,
        'a cancellation reaches the server under its own id and ends the POST without a response',
      ],
    ],
    [
      'logging',
      'log messages arrive',
      mcp(revision, 'server/utilities/logging'),
      [conversation, 'a log line stands on the stream of the call in flight, before its response'],
    ],
    [
      'server-requests',
      'sampling, elicitation and roots reach the client and come back',
      mcp(revision, 'client/sampling'),
      [conversation, '${method} reaches the client on the stream of the call, and its answer the server'],
      [conversation, 'an error answer of the client reaches the server too'],
    ],
    [
      'conformance',
      'no check of the conformance suite differs through the gateway',
      ours('docs/conformance.md'),
      [
        'test/conformance/mcp/conformance.test.ts',
        'the gateway changes the outcome of no conformance check: ${titleOf(combination)}',
      ],
    ],
    [
      'differential',
      'a client sees the same directly and through the gateway',
      ours('docs/conformance.md'),
      [
        'test/differential/differential.testing.ts',
        'behaves the same ${place} behind the gateway, in revision ${revision}',
      ],
      ['test/differential/differential.testing.ts', 'needs every exception'],
    ],
  ]),
  ...area('mcp.feature', [
    [
      'tools',
      'tools are listed and called, with every type of content',
      mcp(revision, 'server/tools'),
      [features, 'tools are listed and called'],
      [features, 'content of every type comes as the server made it'],
    ],
    [
      'structured',
      'structured output fits its schema',
      mcp(revision, 'server/tools#structured-content'),
      [features, 'structured output fits its schema'],
    ],
    [
      'tool-errors',
      'an error of a tool is a result',
      mcp(revision, 'server/tools#error-handling'),
      [features, 'an error of a tool is a result, an unknown tool is an error'],
    ],
    [
      'prompts',
      'prompts are listed and got',
      mcp(revision, 'server/prompts'),
      [features, 'prompts are listed and got, with their arguments'],
    ],
    [
      'resources',
      'resources and templates are listed and read',
      mcp(revision, 'server/resources'),
      [features, 'resources are listed and read, also those of templates'],
    ],
    [
      'subscriptions',
      'subscriptions bring updates',
      mcp(revision, 'server/resources#subscriptions'),
      [features, 'a subscription brings updates until it is given up'],
    ],
    [
      'completion',
      'arguments are completed',
      mcp(revision, 'server/utilities/completion'),
      [features, 'arguments are completed'],
    ],
    [
      'logging',
      'log messages arrive from the level that was set',
      mcp(revision, 'server/utilities/logging'),
      [features, 'log messages of the server arrive from the level that was set'],
    ],
    [
      'progress',
      'progress is reported in order',
      mcp(revision, 'basic/utilities/progress'),
      [features, 'a long call reports its progress in order'],
    ],
    [
      'cancellation',
      'a cancelled call is cancelled at the server',
      mcp(revision, 'basic/utilities/cancellation'),
      [features, 'a cancelled call is cancelled at the server, and the session goes on'],
    ],
    [
      'pagination',
      'lists are walked page by page',
      mcp(revision, 'server/utilities/pagination'),
      [features, 'every list is walked page by page'],
    ],
    [
      'sampling',
      'the server asks the client for a sample',
      mcp(revision, 'client/sampling'),
      [features, 'the server asks the client for a sample'],
    ],
    [
      'elicitation',
      'the server asks the user',
      mcp(revision, 'client/elicitation'),
      [features, 'the server asks the user through the client'],
    ],
    [
      'roots',
      'the server learns the roots',
      mcp(revision, 'client/roots'),
      [features, 'the server learns the roots of the client, and their changes'],
    ],
    [
      'list-changed',
      'changes of lists are told',
      mcp(revision, 'server/tools#list-changed-notification'),
      [features, 'a change of every list is told'],
    ],
    [
      'end',
      'the end of a session ends its child',
      sessions,
      [features, 'ending the session ends its child process'],
    ],
  ]),
  ...area('mcp.names', [
    [
      'readings',
      'no spelling of a name reaches a hidden item',
      promises,
      [itemNames, 'no spelling of a hidden resource brings its contents'],
      [itemNames, 'no spelling of the name of a hidden tool or prompt reaches it'],
    ],
    [
      'without-id',
      'a request without an id is not carried out',
      promises,
      [
        itemRules,
        'a request without an id reaches no server, whatever it asks for, and ends its whole batch',
      ],
    ],
    [
      'news',
      'news of a hidden resource is not told',
      promises,
      [itemRules, 'news of a hidden resource goes on no stream, at once or after it waited'],
    ],
    [
      'tasks',
      'tasks are bound to the caller that made them',
      mcp(revision, 'basic/utilities/tasks#task-isolation-and-access-control'),
      [tasks, 'a task is unknown to every other principal, by the handle and by the server’s own id'],
      [tasks, 'a list of tasks has the caller’s own, and the handles are those that the caller knows'],
    ],
    [
      'target',
      'rules see the name that a target has today',
      promises,
      [renamed, 'a renamed child is judged by its new name, in calls, lists and news'],
    ],
  ]),
];

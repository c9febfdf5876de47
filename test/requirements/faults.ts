import { area, ours, type Requirement } from './requirement.ts';

const promises = ours('SECURITY.md');
const page = ours('docs/configuration.md');
const children = 'test/e2e/children.test.ts';
const keys = 'test/e2e/keys.test.ts';
const federation = 'docs/faults.md';
const targets = 'src/mcp/federation/faults.test.ts';
const users = 'src/mcp/federation/twoUsers.test.ts';
const backend = 'src/proxy/forward/backendFaults.test.ts';
const client = 'src/proxy/http1/clientFaults.test.ts';

/** Faults tried on the running program: nothing hangs, nothing is left, memory returns. */
export const faults: readonly Requirement[] = [
  ...area('fault', [
    [
      'child-killed',
      'a child is killed in the middle of a call',
      promises,
      [children, 'by a signal in the middle of a call gives an error at once, and the session goes on'],
      [children, 'by itself again and again is restarted each time'],
      [children, 'takes no other session with it'],
    ],
    [
      'child-start',
      'a child cannot start',
      promises,
      [children, 'before it says a word is reported with its name, and its last words are in the log'],
      [children, 'because there is no such program is reported the same way'],
    ],
    [
      'child-silent',
      'a child never answers',
      promises,
      [children, 'is given up by a client that cancels, and the session goes on'],
      [children, 'ends in an error where the route has a time limit, and the session goes on'],
      [children, 'not even to initialize is given up after its start timeout and does not stay'],
    ],
    [
      'child-deaf',
      'a child does not read',
      promises,
      [children, 'and does not read either is refused more when its pipe is full'],
    ],
    [
      'child-floods',
      'a child floods',
      promises,
      [children, 'floods a client that does not read without filling the memory of the gateway'],
      [children, 'floods a client that has left without harm to the session'],
      [children, 'in one line ends that call only'],
    ],
    [
      'child-secrets',
      'a child looks for the secrets of the gateway',
      promises,
      [children, 'inherits the environment of the gateway, but none of its secrets'],
      [children, 'with clear_env has what the configuration says and nothing else'],
    ],
    [
      'child-left',
      'a child does not want to end',
      promises,
      [children, 'ends what its child has started, however deaf it is to signals'],
      [children, 'ends a child that does not want to'],
    ],
    [
      'provider-down',
      'the provider is away at the start, and later',
      promises,
      [keys, 'at the start closes its routes only, with 503, until it comes'],
      [keys, 'later changes nothing for the keys that are known'],
    ],
    [
      'provider-rotates',
      'keys are rotated',
      promises,
      [keys, 'a token of a new key works at once, and one of a dropped key no longer'],
    ],
    [
      'provider-rubbish',
      'the provider answers rubbish',
      promises,
      [keys, 'a provider that answers rubbish, without end or not at all closes its routes until it mends'],
    ],
    [
      'client-gone',
      'the client leaves in mid-stream',
      promises,
      [client, 'a client that leaves within its answer takes its backend connection along'],
      [
        'src/mcp/serve/conversation.test.ts',
        'a client that leaves in the middle of a stream does not disturb the session',
      ],
    ],
    [
      'upstream-reset',
      'the backend resets in mid-body',
      promises,
      [backend, 'an answer cut short looks cut short to the client: ${name}'],
    ],
    [
      'slow-loris',
      'heads and bodies come byte by byte',
      promises,
      [client, 'a head that comes too slowly is 408, and the connection closed'],
      [client, 'a body that stalls is 408, and the backend let go'],
    ],
    [
      'idle',
      'ten thousand connections are idle',
      promises,
      [
        'src/proxy/http1/idleConnections.test.ts',
        'ten thousand idle connections cost little, do not stand in the way, and leave nothing',
      ],
    ],
    [
      'target-killed',
      'a target is killed beside others',
      federation,
      [targets, 'a target that is killed fails its calls with its name, and starts again'],
      [targets, 'a list leaves out a target that dies while it is read'],
    ],
    [
      'target-hangs',
      'a target hangs beside others',
      federation,
      [targets, 'a target that hangs loses its call after the time-out, and no other call waits for it'],
    ],
    [
      'target-floods',
      'a target floods beside others',
      federation,
      [targets, 'a target that floods its call with progress does not hold up the others'],
    ],
    [
      'target-rubbish',
      'a target answers rubbish',
      federation,
      [targets, 'a target that ${fault} fails that call, and both targets go on', 'answers rubbish'],
    ],
    [
      'target-ids',
      'a target answers with wrong or repeated ids',
      federation,
      [targets, 'responses with wrong and repeated ids reach nobody'],
    ],
    [
      'target-line',
      'a target writes a line of 100 MB',
      federation,
      [targets, 'a line of 100 MB fails that call, and the gateway never holds it'],
    ],
    [
      'target-changes',
      'a target changes its tools while their list is read',
      federation,
      [targets, 'a list that changes between two of its pages is announced, and not remembered'],
    ],
    [
      'clients-vanish',
      'a thousand clients vanish at once',
      federation,
      [targets, 'a thousand clients that vanish in the middle of their calls leave nothing behind'],
    ],
    [
      'federated-reload',
      'the configuration changes under the load of federated sessions',
      federation,
      [targets, 'no call fails while targets come and go with the configuration'],
      [
        'test/e2e/manyReloads.test.ts',
        "reloads under load lose no request and leave nothing behind, with ${workers === 1 ? 'one process' : 'two workers'}",
      ],
    ],
    [
      'replica-killed',
      'a replica of the gateway is killed',
      federation,
      [
        'test/e2e/replicas.test.ts',
        'a client does not notice that its only gateway was started anew',
        'at once',
      ],
      ['test/e2e/revivedSessions.test.ts', 'a session with several targets goes on at another gateway'],
    ],
    [
      'two-users',
      'two users have equal request ids, task ids and resource URIs',
      federation,
      [
        users,
        'calls of two users with the same id get their own answers, and a cancellation ends its own call',
      ],
      [users, 'questions of a server to two users with the same id are answered by the user who was asked'],
      [users, 'tasks of two users with the same id at the server stay apart'],
      [
        users,
        'news of a resource reaches the user whose session the server told, under the same URI for both',
      ],
    ],
    ['taken-port', 'a port is taken', page, ['src/cli/program.test.ts', 'a port in use ends with 3']],
  ]),
];

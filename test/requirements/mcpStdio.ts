import { area, mcp, ours, type Requirement } from './requirement.ts';

const promises = ours('SECURITY.md');
const page = ours('docs/mcp.md');
const stdioPage = mcp('2025-11-25', 'basic/transports#stdio');
const lines = 'src/http/lineSplitter.test.ts';
const environment = 'src/mcp/targets/stdio/environment.test.ts';
const stderr = 'src/mcp/targets/stdio/stderrLog.test.ts';
const backoff = 'src/mcp/targets/conversation/backoff.test.ts';
const supervision = 'src/mcp/targets/stdio/supervision.test.ts';
const timeouts = 'src/mcp/serve/slowCalls.test.ts';
const clocks = 'src/mcp/limits/callTimeouts.test.ts';
const broken = 'src/mcp/targets/stdio/brokenAnswers.test.ts';
const budgets = 'src/mcp/limits/budgets.test.ts';

/** MCP servers that are children of the gateway. */
export const mcpStdio: readonly Requirement[] = [
  ...area('mcp.calls', [
    [
      'time',
      'every request has a time-out, of which the server is told by a cancellation',
      mcp('2025-11-25', 'basic/lifecycle#timeouts'),
      [timeouts, 'a call that a stdio server does not answer in time fails, and the server is told'],
      [timeouts, 'the timeout of ${what} overrides less specific ones', 'config.limits'],
      [timeouts, 'the same holds for a server over the network: time-out of a tool, progress, questions'],
    ],
    [
      'progress',
      'progress gives a call its time again, up to a maximum',
      mcp('2025-11-25', 'basic/lifecycle#timeouts'),
      [timeouts, 'progress gives a call its whole time again'],
      [clocks, 'progress gives a call its whole time again, up to the longest that a call may take'],
    ],
    [
      'strict',
      'an answer that breaks JSON-RPC fails its call at once',
      'https://www.jsonrpc.org/specification#response_object',
      [
        broken,
        'a stdio server that answers ${line.slice(0, 70)} fails its call at once, and the session goes on',
      ],
      [broken, 'a server over the network that sends ${line.slice(0, 70)} fails its call at once'],
    ],
    [
      'budgets',
      'one principal cannot use up MCP for the others',
      promises,
      [budgets, 'a principal gets child processes up to its budget, without affecting other principals'],
      [
        budgets,
        'after the grace an abandoned session gives its child up to the next session of its principal',
      ],
      [budgets, 'a principal has calls in progress up to its budget, without affecting other principals'],
      [budgets, 'a principal has event streams up to its budget, without affecting other principals'],
    ],
  ]),
  ...area('mcp.stdio', [
    [
      'missing',
      'a missing command is an error that names it',
      page,
      [
        supervision,
        'a missing command is a JSON-RPC error that names the target; only the log names the command',
      ],
      [supervision, 'a missing working directory is not mistaken for a missing command'],
    ],
    [
      'start',
      'a server that ends or hangs before initialize is answered is an error',
      page,
      [
        supervision,
        'a server that ends before it answers is an error with its exit code, and the log has its last words',
      ],
      [supervision, 'a server that does not answer initialize in time is stopped'],
    ],
    [
      'dies',
      'a child that dies in a call fails what waits at once, and the session goes on',
      page,
      [
        supervision,
        'a child that ends in a call (${tool}): every pending call fails at once, the session goes on',
      ],
      [supervision, 'a child killed from outside, with nothing pending, is replaced before anyone asks'],
    ],
    [
      'restored',
      'a restarted server knows initialize, log level and subscriptions',
      page,
      [supervision, 'a restarted server knows that it is initialized, its log level and its subscriptions'],
    ],
    [
      'given-up',
      'a server that keeps failing is given up, and tried again later',
      page,
      [
        supervision,
        'a server that keeps failing is given up with a clear error and tried again after the cool-down',
      ],
    ],
    [
      'silent',
      'a child that never answers leaves other calls alone',
      page,
      [supervision, 'a child that never answers leaves other calls alone and ends with its session'],
    ],
    [
      'flood',
      'a flood arrives whole, without growing the gateway',
      promises,
      [supervision, 'a flood arrives whole at a client that reads, however slowly it began'],
    ],
    [
      'deaf',
      'a child that does not read gets calls up to a bound',
      promises,
      [
        supervision,
        'a child that does not read its stdin gets calls up to a bound, and then they are refused',
      ],
    ],
    [
      'garbage',
      'garbage on stdout is skipped and logged',
      stdioPage,
      [supervision, 'garbage on stdout is skipped and logged'],
      [supervision, 'a response with broken JSON fails its call instead of leaving it without an answer'],
    ],
    [
      'too-long',
      'a line over the limit fails its call only',
      promises,
      [supervision, 'a line over maxMcpMessageBytes fails its call, and the session goes on'],
    ],
    [
      'group',
      'nothing of a child is left, its own children included',
      page,
      [
        supervision,
        'at the end of a session nothing of a child is left: not its children, not one that ignores SIGTERM',
      ],
      [supervision, 'when a child dies, its own children do not outlive it'],
      [supervision, 'close leaves no process, even of those that ignore every polite request'],
    ],
    [
      'left-early',
      'a client that leaves before initialize leaves nothing',
      page,
      [supervision, 'a client that leaves before initialize is answered leaves no session and no child'],
    ],
    [
      'stderr-log',
      'stderr is in the log with the name of the target',
      page,
      [supervision, 'a line on stderr is in the log with the name of the target'],
    ],
    [
      'lines',
      'a message may come in pieces',
      stdioPage,
      [lines, 'lines come out whole however the bytes are cut'],
    ],
    [
      'long',
      'a line over the limit is refused, and the next one is read',
      promises,
      [lines, 'a line over the limit is refused with both its ends, and the next one is read'],
    ],
    [
      'environment',
      'a child inherits the environment, never the gateway’s secrets',
      page,
      [environment, 'a child inherits the environment less the secrets of the gateway'],
      [environment, 'clearEnv leaves only the variables of the target'],
    ],
    [
      'backoff',
      'restarts wait longer each time and are given up',
      page,
      [
        backoff,
        'restarts wait longer each time and are given up within the window, until the cool-down is over',
      ],
    ],
    [
      'stderr',
      'stderr is kept and a flood does not reach the log',
      page,
      [stderr, 'the last twenty lines of stderr are kept, and a flood is not logged'],
    ],
  ]),
];

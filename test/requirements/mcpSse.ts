import { area, mcp, ours, type Requirement } from './requirement.ts';

const page = ours('docs/mcp-sse.md');
const transport = mcp('2024-11-05', 'basic/transports#http-with-sse');
const stdio = mcp('2025-11-25', 'basic/transports#stdio');
const endpoint = 'src/mcp/targets/sse/endpointUrl.test.ts';
const connection = 'src/mcp/targets/sse/sseConnection.test.ts';
const clients = 'src/mcp/serve/sseSessions.test.ts';
const sdk = 'src/mcp/serve/sdk.test.ts';
const program = 'test/e2e/sseClients.test.ts';
const command = 'test/e2e/stdioCommand.test.ts';

/** HTTP+SSE on both sides, and the gateway as a server over stdio. */
export const mcpSse: readonly Requirement[] = [
  ...area('mcp.sse', [
    [
      'server.endpoint',
      'messages go by POST to the endpoint that the first event of a stream names, within its origin',
      transport,
      [connection, 'a session is one stream, and every message a POST to the endpoint that the server names'],
      [endpoint, 'an endpoint is a path, a reference relative to the stream, or a URL of the same origin'],
      [endpoint, 'an endpoint of another origin is refused, however it is written'],
    ],
    [
      'server.broken',
      'a broken stream fails its calls at once, and the session is restored on another stream',
      page,
      [
        connection,
        'a stream that breaks fails the calls under way at once, and another stream restores the session',
      ],
      [connection, 'a stream that breaks while the session is restored is a failed attempt'],
      [connection, 'a server that is gone is given up with its reason, and tried again with the next call'],
    ],
    [
      'client.endpoint',
      'a GET opens a stream whose first event names the endpoint, and all answers come as message events',
      transport,
      [clients, 'a session is one stream: POSTs get a receipt, and the answers come as events'],
      [clients, 'messages of servers come on the same stream, and the answers of the client by POST'],
      [
        sdk,
        'the 1.x client lists and uses tools, prompts, resources, templates and completions, over ${kind}',
      ],
      [program, 'the mcp form serves HTTP+SSE on /sse, to requests that reach any of two workers'],
    ],
    [
      'client.owner',
      'a session belongs to the caller that opened its stream, and ends with the stream',
      page,
      [clients, 'a session belongs to the principal that opened the stream, and to its backend'],
      [clients, 'the session and its child end when the client closes the stream'],
      [program, 'tokens and rules apply to the stream and to every message'],
    ],
  ]),
  ...area('mcp.command', [
    [
      'stdout',
      'standard output has nothing but messages, one a line',
      stdio,
      [command, 'a desktop client uses every part of a server, and the servers end with it'],
      [command, 'messages keep their order, and a line that is none gets an error'],
    ],
    [
      'end',
      'the command and its servers end with standard input',
      mcp('2025-11-25', 'basic/lifecycle#shutdown'),
      [command, 'the program and its child end with standard input, after the answers under way'],
      [command, 'a program that is killed leaves no child behind'],
    ],
  ]),
];

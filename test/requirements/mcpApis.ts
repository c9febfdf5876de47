import { area, mcp, ours, type Requirement } from './requirement.ts';

const page = ours('docs/openapi.md');
const tools = (section: string): string => mcp('2025-11-25', `server/tools#${section}`);
const specification = (section: string): string => `https://spec.openapis.org/oas/v3.1.1.html#${section}`;
const describing = 'src/mcp/targets/description/describe.test.ts';
const paths = 'src/mcp/targets/description/pathTemplate.test.ts';
const requests = 'src/mcp/targets/openapi/apiRequest.test.ts';
const use = 'src/mcp/targets/openapi/openapiConnection.test.ts';
const failures = 'src/mcp/targets/openapi/apiFailures.test.ts';
const sessions = 'src/mcp/targets/openapi/apiSessions.test.ts';
const remote = 'src/mcp/targets/openapi/remoteDescription.test.ts';
const e2e = 'test/e2e/openapi.test.ts';

/** HTTP APIs that the gateway serves as MCP servers. */
export const mcpApis: readonly Requirement[] = [
  ...area('mcp.apis', [
    [
      'tools',
      'operations of 3.0 and 3.1 become tools that clients of the SDK use',
      specification('operation-object'),
      [describing, 'operations of 3.0 become tools with their texts, hints and arguments'],
      [describing, 'operations of 3.1 keep JSON Schema, and lose only what no client could read'],
      [use, 'a client of the SDK lists the tools of an API and calls them'],
    ],
    [
      'recursion',
      'recursive schemas stay as small as they are (agentgateway#224, #132)',
      page,
      [describing, 'a recursive schema is written once, and each direction has its own properties'],
      [describing, 'a schema that is nothing but a reference to itself stays as small as it is'],
      [use, 'a client of the SDK uses a recursive description of 3.1'],
    ],
    [
      'styles',
      'parameters are written in their styles',
      specification('style-values'),
      [requests, 'every style writes texts, lists and objects as OpenAPI shows them'],
    ],
    [
      'paths',
      'no argument leaves its place in the path',
      page,
      [requests, 'no argument leaves its place in the path'],
      [paths, 'no encoded value that passes the check changes the folder of a URL'],
    ],
    [
      'headers',
      'no argument sets a header that frames the message, names the host or the sender, or carries credentials',
      page,
      [
        describing,
        'no parameter sets a header that frames the message, names the host or the sender, or carries credentials',
      ],
      [requests, 'a header argument cannot begin another header'],
      [requests, 'policies decide about the fields, parameters and cookies that they set'],
    ],
    [
      'credentials',
      'the API gets the credentials of the gateway and nothing of the client',
      mcp('2025-11-25', 'basic/security_best_practices#token-passthrough'),
      [e2e, 'a call reaches the API with the credentials of the gateway and nothing of the client'],
      [failures, 'a status of failure is a result that the model can read, and shows no credential'],
    ],
    [
      'references',
      'references to other documents are refused',
      page,
      [describing, 'a reference that leads outside, nowhere or to itself is refused by name'],
    ],
    [
      'hostile',
      'hostile descriptions are refused',
      page,
      [describing, 'hostile texts are refused before they take memory or the stack'],
      [describing, 'schemas that are huge in all are refused with the remedy'],
    ],
    [
      'structured',
      'an output schema is promised only where the answer keeps it',
      tools('output-schema'),
      [describing, 'only an operation whose every success is the same object promises structured answers'],
      [failures, 'a success without the promised object says so, since strict clients refuse it otherwise'],
    ],
    [
      'errors',
      'failures and wrong arguments are results that a model can read',
      tools('error-handling'),
      [failures, 'wrong arguments are a result that the model can read, and no request'],
      [failures, 'messages that an API cannot answer get the errors of the protocol'],
    ],
    [
      'changes',
      'a changed description reaches sessions, and a broken one does not',
      tools('list-changed-notification'),
      [sessions, 'a changed description gives a live session new tools, and tells the client'],
      [remote, 'a description that cannot be used leaves the one before in use, and the log says why'],
      [e2e, 'a changed file gives a session other tools, and a broken one leaves it the tools that it has'],
    ],
    [
      'cancellation',
      'a cancelled or late call ends its request',
      mcp('2025-11-25', 'basic/utilities/cancellation'),
      [failures, 'a cancelled call ends its request'],
      [failures, 'a call that takes too long fails, and its request ends'],
    ],
  ]),
];

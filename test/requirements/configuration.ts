import { area, gatewayApi, ours, type Requirement } from './requirement.ts';

const page = ours('docs/configuration.md');
const precedence = gatewayApi('reference/api-spec/main/spec/#httprouterule');
const golden = (name: string): readonly [string, string, string] => [
  'src/config/golden.test.ts',
  'the configuration ${name} gives the expected model or problems',
  `testdata/${name}.in.yaml`,
];
const load = 'src/config/load.test.ts';
const variables = 'src/config/variables.test.ts';
const fileSource = 'src/config/fileSource.test.ts';
const order = 'src/model/precedence.test.ts';
const program = 'src/cli/program.test.ts';
const token = 'src/cli/token.test.ts';

/** The file, its reload, and the command line. */
export const configuration: readonly Requirement[] = [
  ...area('config', [
    ['quickstart', 'the file of the first use works as it is written', page, golden('quickstart')],
    ['gateways', 'the form with gateways and routes gives the same model', page, golden('gateways')],
    ['mcp', 'the mcp shortcut serves MCP on a port or a gateway', page, golden('mcp-port')],
    ['key-order', 'the order of keys does not matter', page, golden('key-order')],
    [
      'positions',
      'every problem has file, line, column, path and what was expected, all at once',
      page,
      golden('wrong-values'),
      golden('unknown-fields'),
    ],
    [
      'nearest',
      'a typo is answered with the nearest known name',
      page,
      [
        'src/config/nearest.test.ts',
        'typing errors, other ways of writing and halves of a word find their field',
      ],
      golden('unknown-fields'),
    ],
    ['not-built', 'a known field that is not built is refused as that', page, golden('not-built')],
    [
      'yaml',
      'broken YAML, two documents, tags and bombs are problems with a place',
      page,
      golden('unclosed'),
      golden('two-documents'),
      golden('tag'),
      golden('alias-bomb'),
      golden('too-deep'),
      golden('duplicate-keys'),
    ],
    ['references', 'names that refer to nothing are problems', page, golden('references')],
    [
      'expressions',
      'a rule that does not compile, names an unknown variable or can never be true is an error at load',
      page,
      golden('expressions'),
    ],
    [
      'variables',
      'variables expand in values, with defaults and doubled dollars',
      page,
      golden('variables'),
      [variables, 'every form of reference is replaced, and every other dollar stays'],
    ],
    [
      'variables-structure',
      'the value of a variable cannot change the structure',
      page,
      [load, 'the value of a variable cannot add fields to the configuration'],
    ],
    [
      'variables-unset',
      'an unset variable without default is an error that names it',
      page,
      golden('unset-variables'),
      [variables, 'faults name the variable and where it stands'],
    ],
    [
      'variables-secret',
      'a wrong value that came from a variable is never shown',
      page,
      [load, 'a wrong value that came from a variable is never shown'],
    ],
    [
      'overrides',
      'environment variables override the settings of the process',
      page,
      [load, 'environment variables win over config, and an empty one counts as not set'],
    ],
    [
      'warnings',
      'what is valid and probably not meant is a warning, such as an optional token without a rule',
      page,
      golden('warnings'),
    ],
    [
      'arbitrary',
      'no text makes loading throw or lose its place',
      page,
      [load, 'loading any text returns a model, or problems with their positions'],
    ],
    [
      'schema',
      'the JSON Schema for editors is the one the program checks with',
      page,
      [
        'src/config/jsonSchema.test.ts',
        'editors are told of unknown fields, of fields that are not built, and of types',
      ],
      [program, 'the schema that is printed is the one in the repository'],
    ],
    [
      'plain-data',
      'the model survives JSON',
      ours('ARCHITECTURE.md'),
      [load, 'the model survives JSON, so that it can be sent to another process'],
    ],
  ]),
  ...area('reload', [
    [
      'follow',
      'the file is followed through every way of replacing it',
      page,
      [fileSource, 'a file that is written to, replaced, removed and created again is followed'],
      [fileSource, 'a mounted ConfigMap is followed when its link is turned'],
    ],
    [
      'poll',
      'it is followed where the system reports no changes',
      page,
      [fileSource, 'polling finds changes of a file when the system reports none'],
    ],
    [
      'keep-last',
      'an invalid change keeps the last good one, and the repair is taken',
      page,
      [fileSource, 'an invalid change reports its problems and the repair is a change again'],
    ],
    [
      'files',
      'files that the configuration names are followed too',
      page,
      [fileSource, 'a file that the configuration names is followed too'],
    ],
  ]),
  ...area('routing', [
    [
      'host',
      'the host name decides before the path',
      precedence,
      [order, 'the host name decides before the path'],
    ],
    [
      'wildcard',
      'a wildcard stands for one or more labels',
      gatewayApi('reference/api-spec/main/spec/#hostname'),
      [order, 'a wildcard stands for one or more labels and never for none'],
    ],
    [
      'path',
      'exact paths go before prefixes, longer prefixes before shorter',
      precedence,
      [order, 'an exact path goes before any prefix, a longer prefix before a shorter one'],
    ],
    [
      'rest',
      'then method, headers, query parameters and the list decide',
      precedence,
      [order, 'at the same path a method, then headers, then query parameters, then the list decide'],
    ],
    [
      'shared-names',
      'a route is reached under the names it shares with its listener',
      gatewayApi('reference/api-spec/main/spec/#httproutespec'),
      [order, 'a route is reached under the names it shares with the listener'],
    ],
  ]),
  ...area('cli', [
    [
      'check',
      'check says everything that is wrong, exit code 1; valid is 0',
      page,
      [program, 'an invalid configuration is checked with 1, and all its problems go to standard error'],
      [program, 'a valid configuration is checked with 0, and warnings go to standard error'],
    ],
    [
      'usage',
      'a wrong command line is 2',
      page,
      [program, 'the exit code of a wrong command line is that of the process'],
    ],
    ['failed', 'a port in use is 3', page, [program, 'a port in use ends with 3']],
    [
      'help',
      'help and version go to standard output',
      page,
      [program, 'help and version are answered on standard output with 0'],
    ],
    [
      'explain',
      'explain shows ports, routes in match order, policies and backends',
      page,
      [
        'src/cli/explanation.test.ts',
        'ports, listeners, routes in match order, policies in run order and backends are shown',
      ],
    ],
    [
      'token',
      'token prints a token of an issuer',
      page,
      [token, 'the token alone is printed, for the client and scopes that were asked for'],
      [token, 'the secret is not sent to the token endpoint of another issuer'],
    ],
    [
      'drain',
      'the first signal drains and ends with 0',
      page,
      [program, 'the gateway runs, drains on the first signal and ends with 0'],
    ],
    [
      'old-node',
      'on an old Node the launcher helps itself or says what it needs',
      ours('README.md'),
      [
        program,
        'on an old Node the launcher starts itself on the packaged one and passes signals and exit codes on',
      ],
      [program, 'on an old Node without the package the launcher says which Node it needs'],
    ],
  ]),
];

import { area, ours, rfc, type Requirement } from './requirement.ts';

const idp = ours('apps/dev-idp/README.md');
const echo = ours('apps/echo/README.md');
const server = 'apps/dev-idp/src/server.test.ts';
const token = 'apps/dev-idp/src/token.test.ts';
const keys = 'apps/dev-idp/src/keys.test.ts';
const login = 'apps/dev-idp/src/login.test.ts';
const registration = 'apps/dev-idp/src/registration.test.ts';
const echoServer = 'apps/echo/src/server.test.ts';

/** The authorization server and the HTTP app for trials. */
export const apps: readonly Requirement[] = [
  ...area('idp', [
    [
      'client-credentials',
      'client credentials give a signed access token',
      rfc(6749, '4.4'),
      [
        token,
        'client credentials give a JWT that verifies against the published keys and has the hosted shape',
      ],
    ],
    [
      'basic',
      'the client may authenticate by Basic, form-encoded inside',
      rfc(6749, '2.3.1'),
      [token, 'the secret may come by Basic, form-encoded inside'],
    ],
    [
      'errors',
      'errors of the token endpoint have a code and a status',
      rfc(6749, '5.2'),
      [token, '${what} is answered ${status} ${error} (RFC 6749 §5.2)'],
      [token, 'a client refused over Basic gets the challenge for it'],
    ],
    [
      'metadata',
      'metadata is where clients look',
      rfc(8414, '3'),
      [server, 'metadata is at all the places where clients look, and names the issuer that tokens have'],
    ],
    [
      'keys',
      'the key set is published without private parts',
      rfc(7517, '5'),
      [keys, 'the published keys are public'],
    ],
    [
      'rotation',
      'keys rotate on demand, old tokens still verify',
      idp,
      [keys, 'after a rotation new tokens have the new key, and old ones still verify'],
    ],
    [
      'code',
      'the authorization code grant works with a login page',
      rfc(6749, '4.1'),
      [login, 'a user chosen on the page comes back with a code that gives a token with the user’s groups'],
    ],
    [
      'pkce',
      'no code without PKCE S256',
      rfc(7636, '4.4.1'),
      [login, 'no code without PKCE, none for plain, none exchanged with another verifier (RFC 7636)'],
    ],
    [
      'refresh',
      'a refresh token gives a new access token',
      rfc(6749, '6'),
      [login, 'a refresh token gives a new access token'],
    ],
    [
      'redirect',
      'an unknown redirect URI is not followed',
      rfc(9700, '2.1'),
      [login, 'a redirect URI that is not the client’s is answered with a page, not followed'],
    ],
    [
      'registration',
      'a client may register, within bounds',
      rfc(7591, '3'),
      [registration, 'a client registers loopback redirect URIs, and those that are configured'],
      [registration, 'a client that could send users elsewhere is refused'],
    ],
    [
      'sdk',
      'the client of the MCP SDK logs in from a resource alone',
      idp,
      [
        registration,
        'the MCP SDK finds the server from a resource, registers, logs a user in and gets a token',
      ],
    ],
    [
      'loopback',
      'it refuses to listen beyond loopback unless forced',
      idp,
      [server, 'the server refuses a public host, unless forced and configured'],
    ],
    [
      'rebinding',
      'a foreign Host is refused',
      idp,
      [server, 'a host name that is not this machine’s is refused (DNS rebinding)'],
    ],
    [
      'config',
      'its YAML file is checked as a whole',
      idp,
      [server, 'a configuration is refused with everything that is wrong with it'],
    ],
    [
      'stop',
      'it stops on SIGTERM with exit code 0',
      idp,
      [server, 'the program reads a YAML file, prints the issuer and stops on SIGTERM with 0'],
    ],
  ]),
  ...area('echo', [
    [
      'headers',
      '/headers answers capitalised names and lists of values',
      echo,
      [echoServer, '/headers answers the headers with capitalised names and lists of values'],
    ],
    [
      'status',
      '/status/{code} answers that status',
      echo,
      [echoServer, '/status answers the code for every method, and refuses one that is none'],
    ],
    [
      'delay',
      '/delay/{seconds} answers later and lets go of clients that leave',
      echo,
      [echoServer, '/delay answers after the delay'],
      [echoServer, 'a client that leaves takes the timer of its delay along'],
    ],
    [
      'bytes',
      '/bytes/{n} sends n bytes within a limit',
      echo,
      [echoServer, '/bytes and /stream-bytes send as many bytes as asked, up to the limit'],
    ],
    ['stream', '/stream/{n} sends n JSON lines', echo, [echoServer, '/stream sends one JSON object a line']],
    ['redirect', '/redirect/{n} leads to /get', echo, [echoServer, '/redirect counts down to /get']],
    [
      'websocket',
      'messages come back over WebSocket',
      rfc(6455, '5'),
      [echoServer, '/ws sends text and binary messages back'],
    ],
    [
      'cors',
      'it answers with httpbin’s CORS headers',
      echo,
      [echoServer, 'every answer carries httpbin’s CORS headers, a preflight all of them'],
    ],
  ]),
];

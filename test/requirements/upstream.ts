import { area, gatewayApi, ours, rfc, type Requirement } from './requirement.ts';

const page = ours('docs/upstream.md');
const tls = 'src/proxy/forward/backendTls.test.ts';
const balancing = 'src/proxy/forward/balancing.test.ts';
const affinity = 'src/proxy/forward/affinity.test.ts';
const hedge = 'src/proxy/forward/hedge.test.ts';
const sessions = 'src/proxy/routing/persistence.test.ts';
const health = 'src/upstream/health.test.ts';

/** The ways to reach backends, and the misbehaviour of their addresses. */
export const upstream: readonly Requirement[] = [
  ...area('backend-tls', [
    [
      'verified',
      'the certificate of a backend is verified, name and time included',
      rfc(9110, '4.3.4'),
      [tls, 'a backend with a certificate of the authority is served, asked for by its name'],
      [tls, 'an address is no server name, and the certificate must hold it'],
      [
        tls,
        'a certificate that nobody trusts, for another name or past its time is refused, with the reason in the log',
      ],
    ],
    [
      'insecure-only-when-said',
      'verification is left out only where the configuration says so, and connections are not shared with others',
      page,
      [tls, 'insecure takes any certificate, insecureHost a trusted one for any name'],
      [tls, 'another name or URI of the certificate counts where the settings name it'],
      [tls, 'a connection that was not verified is never used by a route that verifies'],
    ],
    [
      'client-certificate',
      'the gateway shows its certificate; a refusal is a failure of TLS',
      page,
      [
        tls,
        'the certificate of the gateway is shown, and a backend that wants one and gets none is a failure of TLS',
      ],
      [tls, 'TLS to a plain port, or no answer to the handshake, is a failure of TLS'],
    ],
    [
      'rotation',
      'files are read anew, and what cannot be used leaves the last good ones in use',
      page,
      [tls, 'files are reloaded when they change; unreadable ones leave the previous files in use'],
      [tls, 'a route with unreadable files is closed and reported; other routes are served'],
    ],
    [
      'pooled',
      'connections are pooled and sessions resumed',
      page,
      [tls, 'connections are pooled, and a new one resumes the session of an earlier one'],
      [tls, 'large bodies cross both ways'],
    ],
  ]),
  ...area('balancing', [
    [
      'least-requests',
      'requests go to all addresses, fewer to those that are busy',
      page,
      [balancing, 'requests go to every address of a backend'],
      [balancing, 'an address that is busy gets fewer requests'],
    ],
    [
      'names',
      'names are followed as their addresses change, without cutting a request',
      page,
      [balancing, 'a name is served at all its addresses, and follows them as they change'],
      [balancing, 'a request under way at an address that is gone comes to its end'],
      [balancing, 'a reload that changes the addresses keeps the state of those that stay'],
      [balancing, 'backends of one model that differ by their addresses are apart'],
    ],
    [
      'hedging',
      'a late answer is raced where the configuration says so; the first answer wins, within the budget',
      ours('docs/policies/retry.md#hedging'),
      [hedge, 'an answer that is late is raced by a second try at another address; the loser is cancelled'],
      [hedge, 'an answer in time is not raced, and without a hedge nothing is'],
      [hedge, 'the first try may still win; its hedge is cancelled'],
      [hedge, 'requests that must not be repeated are not hedged, whatever a precondition says'],
      [hedge, 'the budget of retries holds for races, too'],
      [hedge, 'a client that leaves ends every try'],
    ],
    [
      'affinity',
      'requests that are alike go to the same address, which moves as few of them as can be, and never drowns',
      ours('docs/upstream.md#session-affinity'),
      [affinity, 'requests with the same key go to the same address, in every process and order of the list'],
      [affinity, 'an address that goes moves its own keys alone, and gets them back'],
      [affinity, 'an address that is much busier than the others is passed by'],
      [
        affinity,
        'with the same expression at all of them the key chooses among backends, too, by their weights',
      ],
    ],
    [
      'persistence',
      'a session stays at its address, whatever the weights become, until the address is gone',
      gatewayApi('geps/gep-1619/'),
      [sessions, 'a session stays at the address that answered its first request'],
      [sessions, 'a session stays with its backend whatever the weights become, even 0'],
      [sessions, 'a session whose address is gone goes to another one, and is told so'],
      [sessions, 'an address that was left out for its failures loses its sessions'],
      [sessions, 'a header carries the session where that is wanted'],
      [sessions, 'a permanent cookie says how long it stays'],
      [sessions, 'a session ends at its age, and when it was idle for too long'],
      [sessions, 'the path of the cookie is that of the match'],
    ],
    [
      'persistence-sealed',
      'the token of a session gives nothing away, and cannot be forged',
      ours('docs/policies/sessionPersistence.md'),
      [
        sessions,
        'the cookie says nothing of the address, and a forged, altered or foreign one begins a new session',
      ],
      [
        sessions,
        'under TLS the cookie is for TLS only, and processes with the same key know each other’s sessions',
      ],
    ],
    [
      'preferences',
      'IPv4 before IPv6, the own zone before others, while they work',
      page,
      [balancing, 'addresses of IPv6 are used when those of IPv4 do not work'],
      [balancing, 'addresses of the own zone are preferred while one of them works'],
    ],
    [
      'other-address',
      'what could not be sent to one address goes to another',
      page,
      [balancing, 'a request that cannot be sent to one address goes to another, with its body'],
      [balancing, 'a request that is forwarded by a plan goes to another address, too'],
      [balancing, 'the gateway answers 503 after three failed connection attempts'],
      [balancing, 'no request fails while addresses come and go'],
    ],
    [
      'eviction',
      'addresses that fail are left out, for longer each time, but never too many',
      page,
      [balancing, 'an address that answers with errors is left out for a while, and comes back'],
      [balancing, 'no more addresses are left out than the share that may be'],
      [balancing, 'an address that takes requests and never answers is left out by the time limit'],
      [
        health,
        'it is out for longer each time it fails again soon, up to ten times, and begins anew when it has behaved',
      ],
    ],
    [
      'checks',
      'health checks find out who works, half-open addresses included',
      page,
      [balancing, 'health checks find out who works, before requests do'],
      [
        balancing,
        'a half-open address, which accepts and never answers, fails its checks; with none left the answer is 503',
      ],
      [balancing, 'checks end with the backend that they are about'],
    ],
    [
      'limits',
      'connections are limited, and so are those who wait for one',
      page,
      [
        balancing,
        'connections over the limit wait, first come first served, and over that limit are refused',
      ],
      [balancing, 'a request that waits is forgotten when its client leaves, and refused in time'],
      [balancing, 'a request that waits for a backend without a route any more is refused in time, too'],
      [
        'src/proxy/forward/plannedQueue.test.ts',
        'with ${what} a request waits for a connection like any other, with its body',
      ],
      [
        'src/proxy/forward/plannedQueue.test.ts',
        'a request that has waited for too long is refused, and its own time limit counts the wait',
      ],
      [balancing, 'a connection is closed after as many requests as it may carry'],
      [balancing, 'health checks need no room among the connections of requests'],
    ],
  ]),
];

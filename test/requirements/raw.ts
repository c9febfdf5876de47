import { area, gatewayApi, ours, rfc, type Requirement } from './requirement.ts';

const page = ours('docs/tcp.md');
const proxyDocument = 'https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt';
const tcp = 'src/proxy/streams/tcp.test.ts';
const tls = 'src/proxy/streams/tlsRoutes.test.ts';
const udp = 'src/proxy/streams/udp.test.ts';
const header = 'src/http/proxyHeader.test.ts';
const proxied = 'src/proxy/ports/proxyProtocol.test.ts';
const files = 'src/config/golden.test.ts';
const golden = 'the configuration ${name} gives the expected model or problems';
const runs = 'test/e2e/tcp.test.ts';
const example = 'examples/tcp/${file}';

/** Connections and datagrams that are not read as HTTP, and who they are from. */
export const raw: readonly Requirement[] = [
  ...area('raw.tcp', [
    [
      'bytes',
      'bytes pass both ways as they are, each direction for itself',
      page,
      [tcp, 'bytes pass both ways, and a server that speaks first is heard first'],
      [tcp, 'each side ends separately: after its own end it still receives bytes'],
      [tcp, 'a slow reader slows the other side down in both directions, and no byte is lost'],
      [tcp, 'a reset of one side reaches the other side'],
      [runs, example, 'databases.yaml'],
    ],
    [
      'weights',
      'connections are drawn by weight, and the share of what does not exist is refused',
      gatewayApi('reference/api-types/tcproute/'),
      [tcp, 'connections are drawn by weight; 0 takes none'],
      [tcp, 'the share of a backend that does not exist is refused, and the rest is served'],
      [tcp, '${what} closes its connections'],
      [tcp, 'the first of several routes takes every connection'],
    ],
    [
      'backends',
      'another address is tried, with nothing lost; the limits of backends hold',
      page,
      [tcp, 'a connection goes to another address of the backend where the first takes none'],
      [tcp, 'a backend that cannot be connected to closes the connection and says so in the log'],
      [tcp, 'connections over the limit of a backend wait, and over the limit of those they are refused'],
      [tcp, 'a client that leaves while a backend is being connected to takes the attempt with it'],
      [tcp, 'TLS to a backend is verified, and offers no protocol unless asked to'],
      [tcp, 'a route whose files cannot be used is closed, is named, and leaves the others alone'],
    ],
    [
      'limits',
      'idle, too many and new connections under overload end',
      page,
      [tcp, 'a connection in which no byte moves ends, on both sides'],
      [tcp, 'over limits.maxConnections connections are closed without a word of HTTP'],
      [tcp, 'while new work is shed, connections are closed, and those that are open go on'],
    ],
    [
      'reload',
      'new configurations leave open connections alone, and a drain waits for them',
      page,
      [
        tcp,
        'a new configuration leaves open connections alone, also those of routes and ports that are gone',
      ],
      [tcp, 'a drain waits for open connections, and resets the rest at its end'],
      [runs, 'several workers share the ports of TCP and UDP listeners'],
    ],
    [
      'configuration',
      'files say all of this, in both forms, and contradictions are refused',
      page,
      [files, golden, 'testdata/raw-routes.in.yaml'],
      [files, golden, 'testdata/raw-routes-wrong.in.yaml'],
      [files, golden, 'testdata/raw-routes-warnings.in.yaml'],
    ],
  ]),
  ...area('raw.tls', [
    [
      'name',
      'the server name chooses listener and route, the most specific first',
      gatewayApi('reference/api-types/tlsroute/'),
      [tls, 'the client shakes hands with the backend that its server name chooses'],
      [tls, 'a server name of no route, and of no listener, is closed before any handshake'],
      [tls, 'the gateway closes a connection without a usable backend'],
      [runs, example, 'sharedPort.yaml'],
    ],
    [
      'untouched',
      'a hello that is passed on is passed on byte for byte',
      page,
      [tls, 'the hello reaches the backend byte for byte, in however many pieces it came'],
    ],
    [
      'ends',
      'TLS may end at the gateway, with client certificates, and promises no protocol',
      rfc(7301, '3.1'),
      [tls, 'a listener with a certificate decrypts forwarded bytes, and offers no protocol'],
      [tls, 'clients without a certificate stay out where the listener asks for one'],
    ],
    [
      'shared',
      'a port can be shared with HTTPS, and a request for a name that is passed on is misdirected',
      rfc(9110, '15.5.20'),
      [tls, 'HTTPS, TLS passed on, TLS that ends here and plain HTTP share a port'],
    ],
    [
      'hello',
      'who sends no sound hello in time is closed',
      rfc(8446, '4.1.2'),
      [tls, 'the gateway closes a connection that is not TLS or sends no complete hello'],
      [tls, 'a client that leaves during the handshake leaves nothing behind'],
    ],
  ]),
  ...area('raw.udp', [
    [
      'flows',
      'datagrams of one client go to one backend, whose answers alone come back',
      page,
      [udp, 'datagrams go to a backend and its answers come back, each to its client'],
      [udp, 'a large datagram is passed whole, an empty one, too'],
      [udp, 'the gateway ignores datagrams of other senders than the backend'],
      [udp, 'a client whose backend is gone goes to another address with its next datagram'],
      [runs, example, 'udp.yaml'],
    ],
    [
      'weights',
      'clients are drawn by weight; without a backend datagrams are dropped',
      gatewayApi('guides/udp/'),
      [udp, 'clients are drawn by weight and stay where they are; 0 takes none'],
      [udp, 'datagrams without a usable backend are dropped and counted'],
      [udp, 'the first of several routes takes every datagram'],
    ],
    [
      'limits',
      'the number of clients is bounded, and known ones are served beyond it',
      page,
      [udp, 'clients over limits.maxUdpFlows get nothing, and those that are known go on'],
      [udp, 'while new work is shed, new clients get nothing'],
    ],
    [
      'reload',
      'clients move only where their backend is gone',
      page,
      [udp, 'a new configuration moves clients only where their backend is none any more'],
      [udp, 'a port may have connections and datagrams under one number'],
      [udp, 'a port that is taken keeps the old configuration'],
      [udp, 'a drain waits for answers, then ends'],
    ],
  ]),
  ...area('raw.proxy', [
    [
      'v1',
      'a line of version 1 is read strictly',
      proxyDocument,
      [header, 'a line names both ends'],
      [header, 'an IPv4 address in the clothes of IPv6 is one of IPv4'],
      [header, 'a line of an unknown family says nothing, whatever it says'],
    ],
    [
      'v2',
      'a block of version 2 is read, its extensions checked',
      proxyDocument,
      [header, 'a block names both ends'],
      [header, 'a LOCAL header, or one without IP and TCP addresses, reports no client'],
      [header, 'extensions are passed over, and a checksum among them must be right'],
      [header, 'a block ${what} is refused'],
      [header, 'the checksum is CRC32c'],
    ],
    [
      'pieces',
      'a header is read the same however it is cut, and never waits for more than it may hold',
      page,
      [header, 'however a header is cut, it is read the same, once it is there, and never before'],
      [header, 'no bytes make the reader throw, or wait for more than a header can hold'],
      [header, 'other bytes are recognized as no header as early as possible'],
      [proxied, 'the header may come a byte at a time, with the request on its heels'],
      [proxied, 'a header that does not come in time ends the connection'],
    ],
    [
      'client',
      'the address in it is that of the client everywhere',
      page,
      [proxied, '${version} tells backend, rules and log who the client is'],
      [proxied, 'limits by address go by that of the client'],
      [proxied, 'a LOCAL PROXY header leaves the address of the connection unchanged'],
      [proxied, 'HTTP/2 with prior knowledge and HTTPS know the client as well'],
      [proxied, 'a TCP route logs the client, and gets nothing of the header'],
      [proxied, 'a TLS connection that is passed on goes by its own hello, behind the header'],
      [proxied, 'haproxy is understood in both versions'],
      [runs, example, 'proxyProtocol.yaml'],
    ],
    [
      'refused',
      'connections without a sound header are closed, unless it is optional',
      page,
      [proxied, 'a connection with ${what} is closed without an answer, counted and named in the log'],
      [proxied, 'with an optional header, connections without one keep their own address'],
      [proxied, 'a second header is part of the request, and none of it'],
      [
        header,
        'a header of a version that is not accepted is refused, and not taken for the words of the client',
      ],
    ],
  ]),
];

import { area, ours, rfc, type Proof, type Requirement } from './requirement.ts';

const promises = ours('SECURITY.md');
const page = ours('docs/configuration.md');
const design = ours('ARCHITECTURE.md');
const crossing = 'src/proxy/forward/forwarding.test.ts';
const backend = 'src/proxy/forward/backendFaults.test.ts';
const client = 'src/proxy/http1/clientFaults.test.ts';
const expect = 'src/proxy/http1/expect.test.ts';
const bodies = 'src/proxy/forward/bigBodies.test.ts';
const replies = 'src/proxy/exchange/localReplies.test.ts';
const upgrade = 'src/proxy/forward/upgrade.test.ts';
const tls = 'src/proxy/ports/tlsListeners.test.ts';
const http2 = 'src/proxy/http2/http2.test.ts';
const floods = 'src/proxy/http2/http2Floods.test.ts';
const tunnel = 'src/proxy/forward/http2Tunnel.test.ts';
const http2Backend = 'src/proxy/forward/http2Backend.test.ts';
const reload = 'src/proxy/snapshot/reload.test.ts';
const corpus = 'test/conformance/http/corpus.test.ts';
const http2Frames = 'src/proxy/http2/http2Frames.test.ts';
const http2Codec = 'src/http/http2/serverConnection.test.ts';
const frames = 'src/proxy/forward/webSocketFrames.test.ts';

/** The traffic that crosses the gateway over real sockets, and the misbehaviour of either side. */
export const forwarding: readonly Requirement[] = [
  ...area('forward', [
    [
      'fields',
      'fields cross in their order and spelling',
      rfc(9110, '5.3'),
      [crossing, 'a request and its answer cross with their fields in order and in their spelling'],
    ],
    [
      'keep-alive',
      'both sides keep their connections',
      rfc(9112, '9.3'),
      [crossing, 'both sides keep their connections, one after the other'],
    ],
    [
      'pipelining',
      'pipelined requests are answered in order',
      rfc(9112, '9.3.2'),
      [crossing, '20 pipelined requests are answered in their order, slow ones included'],
      [crossing, 'pipelined requests cut at every byte are still the same requests'],
    ],
    [
      'chunked',
      'chunked bodies cross both ways with their trailers',
      rfc(9112, '7.1.2'),
      [crossing, 'chunked bodies cross in both directions with their trailers'],
    ],
    [
      'head',
      'an answer to HEAD has no body',
      rfc(9110, '9.3.2'),
      [crossing, 'an answer to HEAD has the fields of a body and none'],
    ],
    [
      'bodyless',
      '204 and 304 have no body',
      rfc(9110, '15.3.5'),
      [crossing, '204 and 304 have no body, and 204 no framing either'],
    ],
    [
      'interim',
      'interim answers reach HTTP/1.1 clients only',
      rfc(9110, '15.2'),
      [crossing, 'interim answers reach an HTTP/1.1 client, and only that'],
    ],
    [
      'hop-by-hop',
      'fields of a connection stop at the gateway',
      rfc(9110, '7.6.1'),
      [crossing, 'fields of one connection stop at the gateway, in both directions'],
    ],
    [
      'forwarded',
      'the backend learns who asked, and nobody can forge it',
      page,
      [crossing, 'the backend gets the client address, the host and the scheme'],
      [crossing, 'earlier proxies stay in X-Forwarded-For, the rest cannot be forged'],
    ],
    [
      'request-id',
      'a sane request id is kept',
      page,
      [crossing, 'a sane request id is kept, any other is replaced'],
    ],
    [
      'answer-fields',
      'answers carry x-envoy-upstream-service-time, server and date',
      page,
      [crossing, 'answers say how long the backend took, who answered, and when'],
    ],
    [
      'switches',
      'every added field can be switched off',
      page,
      [crossing, 'every field the gateway adds can be switched off, and then the peer’s own passes'],
    ],
    [
      'absolute-form',
      'the absolute form is sent on in origin form',
      rfc(9112, '3.2.2'),
      [crossing, 'the absolute form selects the route by its authority, and is forwarded in origin form'],
    ],
    [
      'paths',
      'paths are sent on as they were matched',
      promises,
      [crossing, 'paths are sent on as they were matched'],
    ],
    [
      'http10',
      'HTTP/1.0 clients get answers without chunks',
      rfc(9112, '6.1'),
      [crossing, 'an HTTP/1.0 client gets chunked answers without their chunks'],
      [crossing, 'an HTTP/1.0 client gets one answer and the end, unless it asks to stay'],
    ],
    [
      'until-close',
      'an answer that ends with its connection becomes chunked',
      rfc(9112, '6.3'),
      [crossing, 'an answer that ends with its connection becomes chunked, and the client stays'],
    ],
    [
      'close',
      'a client that says close gets its answer and the end',
      rfc(9112, '9.6'),
      [crossing, 'a client that says close gets its answer and the end'],
    ],
    [
      'not-found',
      'what nobody serves is 404',
      page,
      [crossing, 'requests without a matching route get an error'],
    ],
    [
      'weights',
      'backends share by weight',
      page,
      [crossing, 'weighted backends share the requests, weight 0 gets none'],
    ],
    [
      'seen',
      'what happened is in the access log and the metrics',
      ours('docs/observability.md'),
      [crossing, 'the access log and the metrics record each request'],
    ],
    [
      'expect',
      '100-continue is answered by the gateway',
      rfc(9110, '10.1.1'),
      [expect, 'a client that waits for leave gets it from the gateway, and the backend sees no expectation'],
      [
        expect,
        'a refusal comes instead of the leave, and ends the connection: the body may or may not follow',
      ],
      [expect, 'an unknown expectation is refused'],
    ],
    [
      'streaming',
      'bodies are not gathered: a slow side holds the other back',
      design,
      [bodies, 'a client that reads slowly holds the backend back: 20 MB ${name}'],
      [bodies, 'a slow upload is held back to the pace of the backend, and arrives whole'],
    ],
    [
      'large',
      'large bodies cross byte for byte',
      design,
      [bodies, 'a 20 MB answer crosses byte for byte for many clients at once'],
      [bodies, '5 MB cross in both directions at once, byte for byte'],
    ],
    [
      'own-replies',
      'answers of the gateway have their framing from the wire',
      rfc(9112, '6'),
      [replies, 'a reply has its framing from the wire, whatever its maker says'],
      [replies, 'replies to HEAD, 204 and 304 have no body'],
    ],
    [
      'defects',
      'a defect is 500, logged and not told',
      promises,
      [replies, 'a handler that throws is 500, logged with its stack, and not told to the client'],
    ],
    [
      'cors-on-refusals',
      'CORS stands on refusals too',
      page,
      [replies, 'CORS stands on refusals, too, and the listener’s policies on what no route serves'],
    ],
    [
      'closed-route',
      'a policy that cannot be prepared closes its route and no other',
      promises,
      [replies, 'a policy that cannot be prepared closes its route and no other'],
    ],
  ]),
  ...area('backend', [
    [
      'refused',
      'a refused connection is 503',
      page,
      [backend, 'a backend that refuses the connection is 503, and the client may try again'],
      [backend, 'a backend that takes no connection in time is 503'],
    ],
    [
      'gone',
      'a backend that hangs up or resets before its answer is 503',
      page,
      [backend, 'a backend that hangs up before it answers is 503'],
      [backend, 'a backend that resets before it answers is 503'],
      [backend, 'a backend that hangs up within its head is 503'],
    ],
    [
      'cut',
      'an answer cut short looks cut short',
      rfc(9112, '8'),
      [backend, 'an answer cut short looks cut short to the client: ${name}'],
      [backend, 'an HTTP/1.0 client, which knows only the end, gets a reset instead: ${name}'],
    ],
    [
      'invalid',
      'what is no answer is 502',
      rfc(9110, '15.6.3'),
      [backend, 'an invalid response of a backend becomes 502 and never reaches the client'],
    ],
    [
      'splitting',
      'bytes behind an answer never reach another client',
      promises,
      [backend, 'bytes behind an answer never reach another client, in the same packet or later'],
      [backend, 'bytes behind a bodyless answer do not count as a body'],
    ],
    [
      'retry',
      'a dead kept connection is replaced once, for idempotent requests',
      rfc(9110, '9.2.2'),
      [backend, 'a kept connection that dies unanswered is replaced for a GET'],
      [backend, 'but not for a POST, which may have done its work'],
      [backend, 'a fresh connection that dies unanswered is not tried again'],
    ],
    [
      'timeouts',
      'time limits end a silent backend with 504',
      page,
      [backend, 'time limits end a silent backend with 504, and its connection'],
      [backend, 'a time limit within an answer cuts it'],
    ],
    [
      'reuse',
      'a connection is used again only where both sides agree',
      rfc(9112, '9.3'),
      [backend, 'a backend that says close is not used again, nor one whose Keep-Alive is over'],
      [backend, 'an HTTP/1.0 backend is used again only where it says keep-alive'],
    ],
    [
      'early',
      'a backend may answer before it has the whole body',
      rfc(9112, '9.5'),
      [backend, 'a backend that answers before it has the whole body ends that request cleanly'],
    ],
  ]),
  ...area('client', [
    [
      'smuggling',
      'what two readers could read in two ways is not passed on, in either direction and from HTTP/2',
      rfc(9112, '11.2'),
      [corpus, 'smuggled requests are refused, sound ones forwarded, and ambiguous ones never'],
      [corpus, 'the readers distinguish requests as servers have done'],
    ],
    [
      'unread',
      'a client that does not read its answer is reset',
      page,
      [
        client,
        'a client that reads too little of its answer is reset, so that the system keeps nothing for it',
      ],
    ],
    [
      'no-request',
      'an invalid request gets its status, and the gateway reads nothing after it',
      rfc(9112, '2.2'),
      [client, 'an invalid request gets its status, and the gateway reads nothing after it'],
      [client, 'after a bad chunk nothing on the connection is taken for a request any more'],
    ],
    [
      'slow-head',
      'a head that comes too slowly is 408',
      promises,
      [client, 'a head that comes too slowly is 408, and the connection closed'],
    ],
    [
      'slow-body',
      'a body that stalls is 408',
      promises,
      [client, 'a body that stalls is 408, and the backend let go'],
      [client, 'a slow body that keeps coming is waited for'],
    ],
    [
      'idle',
      'an idle connection is closed',
      promises,
      [client, 'a connection without a request is closed after its idle time'],
    ],
    [
      'too-many',
      'a connection too many is told to come back',
      promises,
      [client, 'a connection too many is told to come back, the others go on'],
    ],
    [
      'leaves',
      'a client that leaves takes its backend connection along',
      promises,
      [client, 'a client that leaves within its request takes its backend connection along'],
      [
        client,
        'a client that leaves while it waits takes its backend connection along, also with more in the pipeline',
      ],
      [client, 'a client that leaves within its answer takes its backend connection along'],
    ],
    [
      'deaf',
      'a client that does not read is held back and given up',
      promises,
      [client, 'a client that sends request after request and reads no answer is not answered without end'],
      [client, 'a client that does not read is given up in the end, by a reset where it could not tell'],
    ],
    [
      'too-large',
      'a body over the limit is 413',
      rfc(9110, '15.5.14'),
      [client, 'a body over the limit is 413: at once where the length says so, else when it is reached'],
    ],
  ]),
  ...area('swap', [
    [
      'no-loss',
      'under load every request is answered while the configuration changes',
      promises,
      [reload, 'under load every request is answered while the model changes again and again'],
    ],
    [
      'one-snapshot',
      'a request ends on the configuration it began with',
      design,
      [reload, 'a request under way ends on the model it began with'],
    ],
    [
      'pools',
      'warm backend connections outlive a reload',
      design,
      [reload, 'warm backend connections outlive a reload'],
    ],
    [
      'ports',
      'ports come and go',
      design,
      [reload, 'ports open and close with the model; connections of a removed port drain'],
    ],
    [
      'all-or-nothing',
      'a port that is taken leaves everything as it was',
      design,
      [reload, 'a port that is taken leaves everything as it was'],
    ],
    [
      'drain',
      'a drain lets answers end and takes nobody new',
      ours('docs/observability.md'),
      [
        reload,
        'a drain finishes responses with close, accepts no connection, and resolves when all are closed',
      ],
    ],
  ]),
  ...area('upgrade', [
    [
      'websocket-frames',
      'frames cross as they are, sound or not',
      rfc(6455, '5'),
      [frames, 'frames of every kind, length and fault cross byte by byte in both directions'],
      [frames, 'a client that vanishes is gone for the server, too'],
    ],
    [
      'tunnel',
      'after a 101 that was asked for, bytes cross both ways',
      rfc(9110, '7.8'),
      [
        upgrade,
        'a request for another protocol and its 101 cross with the fields of this hop, and then bytes do',
      ],
      [
        'test/e2e/webSocket.test.ts',
        'a WebSocket client talks to a WebSocket server, and the tunnel is one request in the end',
      ],
      [upgrade, 'a side that reads nothing holds the other back, and both get everything in the end'],
    ],
    [
      'early',
      'what comes before the 101 is not lost and not taken for HTTP',
      rfc(9110, '7.8'),
      [upgrade, 'bytes that a client sends without waiting for the 101 arrive behind its request'],
    ],
    [
      'refused',
      'a server may go on with HTTP, or say which protocol it needs',
      rfc(9110, '15.5.22'),
      [upgrade, 'a refused upgrade is an ordinary answer, and the connections go on'],
      [upgrade, '426 names the protocol that is needed'],
    ],
    [
      'asked',
      'a server switches only to what was asked for',
      rfc(9110, '7.8'),
      [upgrade, 'an unexpected 101, or one to another protocol, is 502'],
    ],
    [
      'no-http',
      'no tunnel carries HTTP past the rules',
      promises,
      [
        upgrade,
        'no tunnel is asked for that could carry HTTP past the rules, nor where the request has a body',
      ],
    ],
    [
      'end',
      'each side ends for itself, a reset ends both, idleness too',
      design,
      [upgrade, 'each side of a tunnel ends for itself'],
      [upgrade, 'a reset of one side reaches the other as a reset'],
      [upgrade, 'a tunnel in which nothing moves is ended'],
    ],
    [
      'counted',
      'a tunnel is one request in log and metrics',
      ours('docs/observability.md'),
      [upgrade, 'a tunnel is counted and logged once, with its bytes, when it ends'],
    ],
  ]),
  ...area('tls', [
    [
      'name',
      'the server name chooses certificate and listener',
      rfc(6066, '3'),
      [
        tls,
        'the server name chooses the certificate and the listener: exact, wildcard, the one for every host',
      ],
      [tls, 'a name that no listener has ends before any certificate is shown'],
      ['src/http/clientHello.test.ts', 'an invalid ClientHello is rejected'],
      ['src/http/clientHello.test.ts', 'a hello is read however it is cut, and never before it is whole'],
    ],
    [
      'misdirected',
      'a request for the host of another listener is 421',
      rfc(9110, '15.5.20'),
      [tls, 'a request for the host of another listener is 421, for a host of none 404'],
      [tls, 'a host under stricter rules cannot be reached on a connection that was opened for another one'],
    ],
    [
      'versions',
      'TLS below 1.2 is refused',
      rfc(8996, '2'),
      [tls, 'TLS below 1.2 and suites that were not chosen are refused; HTTP/1.1 is negotiated'],
    ],
    [
      'clients',
      'with authorities for clients, every client shows a certificate of theirs',
      ours('docs/tls.md'),
      [tls, 'with authorities for clients, only those with a certificate of theirs come in'],
      ['test/e2e/tls.test.ts', 'examples/tls/listeners.yaml'],
    ],
    [
      'renewal',
      'renewed files are used, broken ones leave the last good pair',
      ours('docs/tls.md'),
      [tls, 'renewed files serve new connections and leave open ones alone; broken ones change nothing'],
      [tls, 'a listener without valid files refuses connections, and opens when the files are valid'],
      [tls, 'a new configuration changes listeners and certificates under open connections'],
    ],
    [
      'plain',
      'plain HTTP on a port that speaks TLS is told so, or served where the port has both',
      ours('docs/tls.md'),
      [tls, 'plain HTTP on a TLS port is told so, anything else is closed'],
      [tls, 'plain HTTP and TLS may share a port, each with its own listeners'],
    ],
    [
      'time',
      'a handshake has bounded time and bytes',
      promises,
      [tls, 'a hello in small pieces is read; one that never ends is given up in time'],
    ],
  ]),
  ...area('http2', [
    [
      'start',
      'HTTP/2 is spoken by ALPN and by prior knowledge',
      rfc(9113, '3'),
      [http2, 'a client that speaks HTTP/2 from its first byte is served on a port of plain HTTP'],
      [http2, 'ALPN chooses HTTP/2 under TLS'],
      [http2, 'other prefaces than that of HTTP/2 are refused as ever'],
    ],
    [
      'streams',
      'requests of one connection are served side by side, each ends for itself',
      rfc(9113, '5'),
      [http2, 'many streams of one connection are served side by side'],
      [http2, 'an answer that breaks off resets its stream and no other'],
      [http2, 'a client that takes its request back takes its backend connection along'],
    ],
    [
      'messages',
      'bodies, interim answers and trailers cross',
      rfc(9113, '8.1'),
      [http2, 'bodies cross in both directions, with and without a known length'],
      [http2, 'HEAD, 204 and 304 have no body, interim answers and trailers cross'],
      [http2, 'trailers of a request cross'],
    ],
    [
      'fields',
      'what no HTTP/1.1 request could say, no HTTP/2 request can',
      rfc(9113, '8.2'),
      ['src/http/http2/requestHead.test.ts', 'fields that HTTP/2 must not have are refused'],
      ['src/http/http2/requestHead.test.ts', 'a request becomes the text of the one it stands for'],
      [http2, 'errors of ours, redirects and limits are answered as over HTTP/1.1'],
      [
        'src/http/http2/requestHead.test.ts',
        'the text of a request contains exactly the fields of its stream',
      ],
    ],
    [
      'length',
      'a length and a body that do not agree make a request malformed',
      rfc(9113, '8.1.1'),
      [
        http2,
        'a request of no length whose stream goes on waits for its end, and is refused when a body comes',
      ],
    ],
    [
      'stream-states',
      'frames on streams that the client has ended or passed over end the connection',
      rfc(9113, '5.1'),
      [http2Frames, 'the connection ends with an error for ${what}'],
      [http2Frames, 'an acknowledgement of no PING changes nothing'],
      [http2Frames, 'large bodies cross in both directions, on many streams at a time'],
    ],
    [
      'errors',
      'an error ends its stream, or the connection where nothing behind it could be read',
      rfc(9113, '5.4'),
      [http2Codec, 'the connection ends for ${what}'],
      [http2Codec, 'the stream ends, and no other, for ${what}'],
      ['test/fuzz/http2.test.ts', 'the HTTP/2 codec neither throws nor loses its state on random frames'],
    ],
    [
      'hpack',
      'heads are decoded as RFC 7541 says, within bounds',
      rfc(7541, '6'),
      ['src/http/hpack/decoder.test.ts', 'the examples of RFC 7541 ${name} are read as it says'],
      ['src/http/hpack/decoder.test.ts', 'an invalid encoding is an error'],
      [
        'src/http/http2/interop.test.ts',
        'heads, bodies and trailers cross as they are, in pieces of ${pieceBytes}',
      ],
    ],
    [
      'flow',
      'a slow side holds the other back',
      rfc(9113, '5.2'),
      [http2, 'a slow reader holds its backend back, a slow backend its writer'],
      [http2Codec, 'streams with much to send take turns'],
      [http2Codec, 'the client may send more as bytes are taken, and not before'],
    ],
    [
      'goaway',
      'a drain says GOAWAY',
      rfc(9113, '6.8'),
      [http2, 'a drain lets streams end, says GOAWAY and closes'],
      [http2Codec, 'a GOAWAY in two steps serves requests on their way, and refuses later ones'],
    ],
    [
      'websocket',
      'extended CONNECT opens a WebSocket',
      rfc(8441, '4'),
      [http2, 'a WebSocket over HTTP/2 reaches a backend of HTTP/1.1'],
      [tunnel, 'a WebSocket of HTTP/1.1 reaches a backend of HTTP/2 as extended CONNECT'],
      [tunnel, 'a WebSocket of HTTP/2 reaches a backend of HTTP/2'],
      [tunnel, 'each side of such a tunnel ends for itself'],
    ],
    [
      'websocket-offered',
      'extended CONNECT is used only where the backend offers it',
      rfc(8441, '3'),
      [
        tunnel,
        'a backend that does not offer tunnels is not asked for one: 501, and nothing held against it',
      ],
    ],
    [
      'floods',
      'frames that cost nothing end their connection',
      rfc(9113, '10.5'),
      ...(
        [
          'streams that are opened and reset (CVE-2023-44487)',
          'PING (CVE-2019-9512)',
          'SETTINGS (CVE-2019-9515)',
          'CONTINUATION without an end (CVE-2024-27316)',
          'empty DATA (CVE-2019-9518)',
        ] as const
      ).map((row): Proof => [floods, 'a flood ends its connection: ${name}', row]),
      [floods, 'the traffic of a busy client is not a flood'],
    ],
  ]),
  ...area('grpc', [
    [
      'trailers',
      'a call goes through with its trailers, in both directions at a time',
      ours('docs/upstream.md'),
      [http2Backend, 'a gRPC call goes through with its trailers'],
      [http2Backend, 'an answer of trailers alone stays one'],
      [http2Backend, 'messages go both ways while a call lasts'],
      ['test/e2e/upstream.test.ts', 'examples/upstream/${file}', 'http2.yaml'],
    ],
    [
      'status',
      'errors of the gateway come as a status of gRPC',
      ours('docs/upstream.md'),
      [http2Backend, 'a backend that cannot be reached is 503, to a client of gRPC as its status'],
    ],
    [
      'backend',
      'backends of HTTP/2 share connections, hold and are held back, and end single requests',
      rfc(9113, '5'),
      [http2Backend, 'many requests share one connection to the backend'],
      [http2Backend, 'clients of HTTP/1.1 reach a backend of HTTP/2'],
      [http2Backend, 'large bodies cross, and a side that does not read holds the other back'],
      [http2Backend, 'a stream that the backend resets is the failure of that request alone'],
      [http2Backend, 'a call that its client gives up is given up at the backend'],
      [http2Backend, 'a backend that says GOAWAY gets no further request on that connection'],
      [http2Backend, 'under TLS the backend is asked for h2, and must speak it'],
    ],
  ]),
];

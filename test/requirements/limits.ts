import { area, ours, rfc, type Requirement } from './requirement.ts';

const page = ours('docs/configuration.md');
const limits = 'src/proxy/exchange/limits.test.ts';
const overload = 'src/proxy/load/overload.test.ts';
const client = 'src/proxy/http1/clientFaults.test.ts';
const http2 = 'src/proxy/http2/http2Settings.test.ts';
const answers = 'src/proxy/forward/responseTimeout.test.ts';

/**
 * The limits on everything that a peer can make grow or last: each has its end, its answer and its place in the
 * metrics.
 */
export const limitsOfPeers: readonly Requirement[] = [
  ...area('limits', [
    [
      'requests',
      'requests under way are limited over all connections: 503, and the connection goes on',
      page,
      [limits, 'a request too many at the same time is told to come back, and its connection goes on'],
    ],
    [
      'requests-per-connection',
      'a connection ends after as many requests as it may have',
      rfc(9112, '9.6'),
      [limits, 'a connection ends after as many requests as it may have, with the last answer saying so'],
    ],
    [
      'connection-age',
      'a connection ends at its age, and never within a request',
      page,
      [limits, 'a connection of age ends: at once when idle, otherwise after its request'],
    ],
    [
      'connections',
      'connections are limited, and never more than the process may have files open for',
      page,
      [limits, 'the cap on connections stays below half of the files the process may open'],
    ],
    [
      'body-rate',
      'a body that trickles is 408; the client is not blamed for a slow backend',
      page,
      [limits, 'a body that trickles is 408, though it never pauses'],
      [limits, 'the body timeout does not count time in which the backend reads nothing'],
      [limits, 'a small body that comes at once is under no rate'],
      [http2, 'a body that trickles over HTTP/2 is 408, the other streams go on'],
      [http2, 'gRPC calls may trickle, and so may bodies that the backend does not read'],
    ],
    [
      'http2',
      'windows, frames, heads and streams of HTTP/2 are limited as configured',
      rfc(9113, '6.5.2'),
      [http2, 'the settings frame has the configured values'],
      [http2, 'without a word the defaults hold'],
      [http2, 'a head may be limited for HTTP/2 alone: the stream is refused, others go on'],
    ],
    [
      'http2-keepalive',
      'a client of HTTP/2 that is gone without a word is found out, where that is asked for',
      rfc(9113, '6.7'),
      [http2, 'a client that answers no ping is given up; one that does stays'],
      [http2, 'without the setting the gateway sends no PING'],
    ],
    [
      'answer-time',
      'an answer that does not begin is 504, and nothing that goes on by itself is ended',
      rfc(9110, '15.6.5'),
      [
        answers,
        'an answer that does not begin is 504; what goes on by itself, or is limited otherwise, goes on',
      ],
      [answers, 'it counts as a failure of the address, and as a reason to try again'],
      [answers, 'a backend may have a limit of its own, in place of that of the route'],
      [answers, 'over HTTP/2 the stream alone ends, and calls of gRPC wait for as long as their client does'],
      [client, 'a backend that stops taking a body is given up with 504'],
    ],
    [
      'overload',
      'overload ends connections first, then refuses new requests, and lets those under way end',
      page,
      [limits, 'overload ends connections first, then refuses new requests, and lets those under way end'],
      [overload, 'each threshold has its level and its reason, the higher one wins'],
      [overload, 'a single pause is no overload, and one good look ends one'],
      [overload, 'by itself it measures how late the event loop is, and how much memory is in use'],
    ],
    [
      'files',
      'without a file descriptor the gateway sheds connections and goes on',
      page,
      [overload, 'without a file descriptor connections end at once, those under way as far as they come'],
    ],
  ]),
];

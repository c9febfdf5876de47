import { area, ours, rfc, type Requirement } from './requirement.ts';

const page = ours('docs/faults.md');
const backend = 'src/proxy/forward/backendFaults.test.ts';
const client = 'src/proxy/http1/clientFaults.test.ts';
const vanished = 'src/proxy/ports/vanishedPeers.test.ts';
const bodies = 'src/proxy/forward/bigBodies.test.ts';
const balancing = 'src/proxy/forward/balancing.test.ts';
const flapping = 'src/proxy/forward/flapping.test.ts';
const reload = 'src/proxy/snapshot/reload.test.ts';
const reloadFaults = 'src/proxy/snapshot/reloadFaults.test.ts';
const tlsEnds = 'src/proxy/forward/backendTlsEnds.test.ts';
const workers = 'test/e2e/workers.test.ts';
const e2e = 'test/e2e/faults.test.ts';

/** The faults around the data plane, tried with real counterparts; docs/faults.md describes them. */
export const dataPlaneFaults: readonly Requirement[] = [
  ...area('fault.upstream', [
    [
      'before-head',
      'a backend resets or hangs up before its answer',
      page,
      [backend, 'a backend that resets before it answers is 503'],
      [backend, 'a backend that hangs up before it answers is 503'],
      [backend, 'a backend that hangs up within its head is 503'],
      [backend, 'a kept connection that dies unanswered is replaced for a GET'],
      [backend, 'but not for a POST, which may have done its work'],
    ],
    [
      'within-body',
      'a backend resets or hangs up within its answer',
      page,
      [backend, 'an answer cut short looks cut short to the client: ${name}'],
      [backend, 'an HTTP/1.0 client, which knows only the end, gets a reset instead: ${name}'],
      [e2e, 'an answer that breaks off upstream breaks off downstream: never does it look complete'],
    ],
    [
      'truncated-tls',
      'an answer without a length ends without an end of TLS',
      rfc(9112, '9.8'),
      [tlsEnds, '${version}: an answer that ends with TCP alone is cut off, and looks it'],
      [tlsEnds, '${version}: an answer that ends with TLS is whole, however late its client reads it'],
      [tlsEnds, 'a backend that says lengths and then does not is asked again where that does no harm'],
      [
        tlsEnds,
        'a request that cannot be repeated fails once, so that a truncated response is not taken as complete',
      ],
      [tlsEnds, 'the truth is told also after lengths were'],
    ],
    [
      'silent',
      'a backend accepts and says nothing',
      page,
      [
        'src/proxy/forward/responseTimeout.test.ts',
        'an answer that does not begin is 504; what goes on by itself, or is limited otherwise, goes on',
      ],
      [backend, 'time limits end a silent backend with 504, and its connection'],
      [backend, 'a time limit within an answer cuts it'],
      [
        balancing,
        'a half-open address, which accepts and never answers, fails its checks; with none left the answer is 503',
      ],
      [balancing, 'an address that takes requests and never answers is left out by the time limit'],
    ],
    [
      'flapping',
      'addresses of a backend come and go',
      page,
      [balancing, 'no request fails while addresses come and go'],
      [flapping, 'an address that dies under load costs the requests that it had, and no other'],
      [balancing, 'an address that answers with errors is left out for a while, and comes back'],
      [balancing, 'health checks find out who works, before requests do'],
    ],
    [
      'names',
      'a name changes its addresses, or cannot be found',
      page,
      [balancing, 'a name is served at all its addresses, and follows them as they change'],
      [balancing, 'a request under way at an address that is gone comes to its end'],
      [flapping, 'names that change their addresses, and fail, under load cost no request'],
    ],
  ]),
  ...area('fault.vanished', [
    [
      'client',
      'a client vanishes without a word',
      page,
      [vanished, 'a client that vanishes while it waits for its answer takes its backend connection along'],
      [vanished, 'a client that vanishes while it listens to a stream in which nothing happens is noticed'],
      [
        vanished,
        'a client that vanishes within a large answer is given up when it has taken nothing for long',
      ],
      [vanished, 'a client of a TCP connection that vanishes is noticed, and its backend let go'],
    ],
    [
      'backend',
      'a backend vanishes without a word',
      page,
      [vanished, 'a backend that vanishes within its answer is noticed, and the answer looks cut short'],
      [vanished, 'a kept connection whose backend has vanished is gone before a request could be lost on it'],
      [vanished, 'an address that has vanished is given up in the time to connect, and another one serves'],
    ],
    [
      'half-closed',
      'one side of a tunnel has ended, and the other never does',
      page,
      [
        'src/proxy/streams/tcp.test.ts',
        'a connection whose ${who} has ended its side, and whose other side never does, ends sooner',
      ],
      [
        'src/proxy/forward/upgrade.test.ts',
        'a tunnel whose client has ended its side, and whose backend never does, ends sooner',
      ],
    ],
  ]),
  ...area('fault.slow', [
    [
      'client',
      'a client reads or writes slowly',
      page,
      [bodies, 'a client that reads slowly holds the backend back: 20 MB ${name}'],
      [client, 'a client that does not read is given up in the end, by a reset where it could not tell'],
      [
        client,
        'a client that reads too little of its answer is reset, so that the system keeps nothing for it',
      ],
      [client, 'a slow body that keeps coming is waited for'],
      ['src/proxy/exchange/limits.test.ts', 'a body that trickles is 408, though it never pauses'],
    ],
    [
      'backend',
      'a backend reads slowly',
      page,
      [bodies, 'a slow upload is held back to the pace of the backend, and arrives whole'],
      [client, 'a backend that stops taking a body is given up with 504'],
      [
        'src/proxy/exchange/limits.test.ts',
        'the body timeout does not count time in which the backend reads nothing',
      ],
    ],
  ]),
  ...area('fault.certificates', [
    [
      'listener',
      'certificates of a listener are renewed under load, the files one after the other',
      page,
      [
        'src/proxy/ports/certificateRotation.test.ts',
        'renewed certificates of a listener reach every new connection without a failed handshake or request',
      ],
      [
        'src/proxy/ports/tlsListeners.test.ts',
        'renewed files serve new connections and leave open ones alone; broken ones change nothing',
      ],
    ],
    [
      'backend',
      'certificates towards a backend are renewed under load, and its own',
      page,
      [
        'src/proxy/ports/certificateRotation.test.ts',
        'renewed certificates towards a backend, and of the backend itself, cost no request',
      ],
    ],
  ]),
  ...area('fault.process', [
    [
      'worker-killed',
      'a worker is killed under load',
      page,
      [workers, 'a worker killed under load costs the requests that it had, and another one takes its place'],
      [
        workers,
        'while a place is empty its connections are taken by a neighbour, however often the worker dies',
      ],
      [
        'src/workers/processTree.test.ts',
        'a worker that hangs is killed and replaced; the other one is left alone',
      ],
    ],
    [
      'descriptors',
      'No file descriptors left',
      page,
      [
        'test/e2e/fileDescriptors.test.ts',
        'out of file descriptors it neither spins nor stops, and serves again as soon as there are some',
      ],
      [
        'src/proxy/exchange/limits.test.ts',
        'the cap on connections stays below half of the files the process may open',
      ],
    ],
  ]),
  ...area('fault.reload', [
    [
      'thousand',
      'a thousand configurations, one after the other, under load: nothing is lost, nothing stays',
      page,
      [
        'src/proxy/snapshot/manyReloads.test.ts',
        'a thousand reloads under load lose no request and leave nothing behind',
      ],
      [
        'test/e2e/manyReloads.test.ts',
        "reloads under load lose no request and leave nothing behind, with ${workers === 1 ? 'one process' : 'two workers'}",
      ],
      [
        'test/e2e/reload.test.ts',
        'a file that breaks and is mended under load, again and again, fails no request',
      ],
    ],
    [
      'new-port',
      'a request comes to a new port before its configuration is in use',
      page,
      [reloadFaults, 'a request that comes before the model of its port is in use waits for it'],
      [
        reloadFaults,
        'a connection to a port of a model that does not come into use is closed, and the port with it',
      ],
    ],
    [
      'refused',
      'a configuration turns out to be of no use when half of it is ready',
      page,
      [reload, 'a port that is taken leaves everything as it was'],
      [reloadFaults, 'a model that cannot be compiled leaves nothing behind'],
    ],
    [
      'end',
      'the gateway ends while it takes a configuration',
      page,
      [reloadFaults, 'an end while a model is prepared leaves no port open'],
      [reloadFaults, 'a drain while a model is prepared keeps the old one, and no port of the new one opens'],
    ],
    [
      'rules',
      'a rule becomes stricter while a client listens',
      page,
      [
        'src/proxy/exchange/longLivedResponses.test.ts',
        "a stream that is open ${lives ? 'goes on' : 'ends'} when a reload changes ${what}",
      ],
      [
        'src/proxy/exchange/longLivedResponses.test.ts',
        'a stream whose policies waited while the configuration changed ends at once',
      ],
      ['test/e2e/reload.test.ts', 'a rule that a reload brings holds for the sessions that are open'],
    ],
  ]),
];

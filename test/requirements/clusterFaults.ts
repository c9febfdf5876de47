import { area, gatewayApi, ours, type Requirement } from './requirement.ts';

const page = ours('docs/faults.md');
const watch = 'test/kubernetes/watch.cluster.ts';
const election = 'test/kubernetes/election.cluster.ts';
const controller = 'test/kubernetes/controller.cluster.ts';
const models = 'test/kubernetes/models.cluster.ts';
const objects = 'test/kubernetes/faults.cluster.ts';
const writers = 'test/kubernetes/writers.cluster.ts';
const rolling = 'test/kubernetes/rolling.node.ts';

/** The faults around a cluster, tried on a real API server; docs/faults.md describes them. */
export const clusterFaults: readonly Requirement[] = [
  ...area('fault.cluster', [
    [
      'api-server-away',
      'the API server is away',
      page,
      [controller, 'is ready while the API server is away, and says what changed when it is back'],
      [controller, 'starts while the API server is away, and is not ready before it knows everything'],
      [models, 'proxies serve while the API server and all controllers are away, also those that start then'],
      [writers, 'a status waits for the API server and is written when it is back'],
      [election, 'a leader that cannot reach the API server has stepped down before another begins'],
    ],
    [
      'watch-cut',
      'a watch is cut, or its version forgotten',
      page,
      [watch, 'goes on when the API server was killed, with what it knew meanwhile'],
      [watch, 'finds out what happened while its version was forgotten'],
      [watch, 'finds a dead connection that nobody closed'],
    ],
    [
      'controller-killed',
      'a controller is killed, the leader or another',
      page,
      [
        controller,
        'when the one that writes is killed, the other takes over as soon as the lease has run out',
      ],
      [models, 'a replica that does not lead serves models too, and takes over the proxies of one that ends'],
      [election, 'when the leader is killed, the other leads as soon as the lease has run out'],
    ],
    [
      'proxy-killed',
      'proxies are killed or replaced under load',
      page,
      [rolling, 'the proxies of a Gateway are replaced without a failure'],
      [rolling, 'the controllers are replaced, and the proxies while there is none, without a failure'],
    ],
    [
      'proxy-refuses',
      'a proxy cannot do what it is to',
      page,
      [
        models,
        'a port that its proxy cannot bind keeps that listener alone from being programmed, and later models come',
      ],
      [
        'src/stream/reportedProblems.test.ts',
        'problems that a proxy reports are known until it reports success',
      ],
      [
        'src/stream/reportedProblems.test.ts',
        'a proxy in trouble is sent on by a controller that does not write statuses, and stays at one that does',
      ],
    ],
    [
      'secret-broken',
      'a Secret is broken and mended',
      page,
      [models, 'a Secret that is broken takes no certificate away, and one that is mended is shown at once'],
      ['src/controller/translate/pem.test.ts', 'the last valid key pair of a broken Secret stays in use'],
    ],
    [
      'class-deleted',
      'the class of a Gateway is deleted',
      page,
      [objects, 'a Gateway whose class is deleted keeps its proxies, and is taken up again with the class'],
    ],
    [
      'deleted-in-any-order',
      'objects are deleted in every order',
      page,
      [objects, 'objects deleted in any order leave nothing behind, and what stays has the right status'],
    ],
    [
      'nonsense',
      'objects make no sense, and nobody checks them',
      page,
      [objects, 'are told what is wrong with them, and do no harm to those beside them'],
    ],
    [
      'another-controller',
      'another controller writes into the status of the same object',
      gatewayApi('reference/spec/#routestatus'),
      [objects, 'status entries of another controller stay, and cause no write'],
      ['src/controller/translate/conditions.test.ts', 'entries of all controllers keep their places'],
      ['src/controller/write/conflictBackoff.test.ts', 'contested writes wait longer each time'],
      [controller, 'leaves what is not its own alone'],
      [controller, 'puts back a status that somebody overwrote, then rests'],
    ],
    [
      'two-installations',
      'two installations have one controller name',
      page,
      [objects, 'two installations of one controller name do not fight: statuses and proxies come to rest'],
    ],
  ]),
];
